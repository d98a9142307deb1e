"""Which pairs of statements a model should be asked about. Without database access."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from apps.memories.candidates import Candidate
from apps.memories.verdicts.known_statements import (
    Neighbour,
    Pair,
    comparison_key,
    known_statements,
)
from apps.memories.verdicts.thresholds import COSINE, JACCARD, Thresholds

# Pairs that a model is asked about for each candidate: those with the most similar statements.
MAX_PAIRS_PER_CANDIDATE = 3
_WORD = re.compile(r"\w+")


class Relation(StrEnum):
    """How a newer statement relates to an older one, as a model answers."""

    UPDATE = "update"
    SAME = "same"
    INDEPENDENT = "independent"


def uncertain_pairs(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None = None,
    thresholds: Thresholds | None = None,
    times: Mapping[int, dt.datetime | None] | None = None,
) -> list[Pair]:
    """Return the pairs of statements on one topic about which a model should be asked, each once.

    The nearest statement of each candidate comes first, then the second nearest of each, in case not all can be asked.
    """
    thresholds = thresholds or (COSINE if vectors is not None else JACCARD)
    by_candidate: list[list[Pair]] = []
    for index, candidate in enumerate(candidates):
        statements = known_statements(candidates, neighbours[index], vectors, index, times or {})
        if any(known.has_same_hash for known in statements):
            continue
        asked = [
            comparison_key(candidate, known)[:2]
            for known in statements
            if thresholds.is_on_topic(known) and not _have_same_words(known.text, candidate.text)
        ]
        by_candidate.append(asked[:MAX_PAIRS_PER_CANDIDATE])
    by_rank = chain.from_iterable(zip_longest(*by_candidate))
    return list(dict.fromkeys(pair for pair in by_rank if pair is not None))


def _have_same_words(old: str, new: str) -> bool:
    """Return whether two texts differ only in case, whitespace and punctuation."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())
