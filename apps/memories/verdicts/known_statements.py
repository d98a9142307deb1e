"""What a candidate is compared with: similar memories and earlier candidates. Without database access."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.words import jaccard
from apps.memories.candidates import Candidate

Pair = tuple[str, str]  # an older and a newer statement


@dataclass(frozen=True)
class Neighbour:
    """A memory similar to a candidate; ``similarity`` is 0 to 1.

    ``inactive``: a person deleted it, or it is no longer active. ``valid_from_index`` is the index of the message from
    which it was extracted, if that is in the candidates' chat; ``said_at`` is when it was last said. ``same_hash``: it
    was created from the same words as the candidate, even if a person has edited it. ``former_texts`` are those that a
    person corrected; one of them has the present text in ``corrected_to``. ``is_persons``: a person wrote or corrected
    it, and nobody else has said it. ``same_tier``: it is of the candidates' tier.
    """

    id: UUID
    kind: str
    text: str
    similarity: float
    inactive: bool = False
    valid_from_index: int | None = None
    same_hash: bool = False
    said_at: dt.datetime | None = None
    former_texts: Sequence[str] = ()
    is_persons: bool = False
    same_tier: bool = True
    corrected_to: str = ""


@dataclass(frozen=True)
class KnownStatement:
    """A memory, or an earlier candidate of the batch at ``index``, with which a candidate is compared."""

    kind: str
    text: str
    similarity: float
    same_kind: bool
    is_later: bool | None  # than the candidate; None if unknown
    memory: Neighbour | None = None
    index: int | None = None

    @property
    def key(self) -> UUID | int | None:
        return self.memory.id if self.memory else self.index

    @property
    def is_removed(self) -> bool:
        """Return whether a person deleted the memory, or another one replaced it."""
        return self.memory is not None and self.memory.inactive

    @property
    def is_persons(self) -> bool:
        """Return whether it is a person's own memory, which nothing said by others replaces."""
        return self.memory is not None and self.memory.is_persons

    @property
    def has_same_hash(self) -> bool:
        """Return whether it is a memory created from the same words as the candidate."""
        return self.memory is not None and self.memory.same_hash


def known_statements(
    candidates: Sequence[Candidate],
    neighbours: Iterable[Neighbour],
    vectors: np.ndarray[Any, Any] | None,
    index: int,
    times: Mapping[int, dt.datetime | None],
) -> list[KnownStatement]:
    """Return the neighbours and the earlier candidates with which a candidate is compared, nearest first."""
    candidate = candidates[index]
    turn = max(candidate.sources, default=None)
    statements = [
        KnownStatement(
            neighbour.kind,
            neighbour.text,
            neighbour.similarity,
            # What a person deleted must not come back as another kind of memory.
            same_kind=neighbour.kind == candidate.kind or neighbour.inactive,
            is_later=_is_later(neighbour, turn, None if turn is None else times.get(turn)),
            memory=neighbour,
        )
        for neighbour in neighbours
    ]
    for number, earlier in enumerate(candidates[:index]):
        cosine = None if vectors is None else float(vectors[index] @ vectors[number])
        similarity = jaccard(earlier.text, candidate.text) if cosine is None else cosine
        same_kind = earlier.kind == candidate.kind
        statements.append(
            KnownStatement(earlier.kind, earlier.text, similarity, same_kind, is_later=False, index=number)
        )
    return sorted(statements, key=lambda statement: -statement.similarity)


def _is_later(neighbour: Neighbour, turn: int | None, said_at: dt.datetime | None) -> bool | None:
    """Return whether a memory was said later than the turn: by position in one chat, by time between two."""
    if neighbour.valid_from_index is not None:
        return turn is not None and turn < neighbour.valid_from_index
    if neighbour.said_at is None or said_at is None or neighbour.said_at == said_at:
        return None
    return said_at < neighbour.said_at


def comparison_key(candidate: Candidate, known: KnownStatement) -> tuple[str, str, str]:
    """Return both texts in the order in which they were said, if that is known, and the kind."""
    texts = (candidate.text, known.text) if known.is_later else (known.text, candidate.text)
    return (*texts, candidate.kind)
