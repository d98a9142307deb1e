"""Compare candidates also with what a person corrected, which is not learnt again. Without database access."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from apps.english.words import jaccard
from apps.memories.verdicts.known_statements import Neighbour

Embed = Callable[[Sequence[str]], np.ndarray[Any, Any] | None]  # returns a unit vector per text, as rows, if it can


def with_former_texts(
    texts: Sequence[str],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None,
    embed: Embed,
) -> list[list[Neighbour]]:
    """Return the neighbours of each candidate and, like deleted memories, the former texts of those corrected.

    Corrected memories of another tier stand only for their former texts. ``vectors`` are the candidates' or, where the
    neighbours were found by words, None.
    """
    found = [[one for one in of_candidate if one.same_tier or one.inactive] for of_candidate in neighbours]
    former = list(dict.fromkeys(text for of_one in neighbours for one in of_one for text in one.former_texts))
    if not former:
        return found
    if vectors is None:
        similarities = np.array([[jaccard(text, other) for other in former] for text in texts])
    else:
        embedded = embed(former)
        if embedded is None:
            return found
        similarities = vectors @ embedded.T
    columns = {text: number for number, text in enumerate(former)}
    for of_one, of_candidate, row in zip(found, neighbours, similarities, strict=True):
        of_one += [
            replace(
                one,
                text=text,
                similarity=float(row[columns[text]]),
                inactive=True,
                same_hash=False,
                corrected_to=one.text,
            )
            for one in of_candidate
            for text in one.former_texts
        ]
    return found


def open_to_change(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the neighbours of a candidate that the person said, who may change also what they have corrected."""
    return [replace(one, is_persons=False) for one in neighbours]
