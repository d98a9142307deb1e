"""What candidates are compared with, how similar they must be, and what a model is asked. Without database access."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.words import jaccard
from apps.memories.candidates import Candidate

Pair = tuple[str, str]  # an older and a newer statement
# Pairs that a model is asked about for each candidate: those with the most similar statements.
MAX_PAIRS_PER_CANDIDATE = 3
_WORD = re.compile(r"\w+")


class Relation(StrEnum):
    """How a newer statement relates to an older one, as a model answers."""

    UPDATE = "update"
    SAME = "same"
    INDEPENDENT = "independent"


@dataclass(frozen=True)
class Neighbour:
    """A memory similar to a candidate; ``similarity`` is 0 to 1.

    ``deleted``: a person deleted it, or corrected this text. ``ended``: nobody deleted it, but it was superseded or
    retired. ``valid_from_index`` is the index of the message from which it was extracted, if that is in the candidates'
    chat; ``said_at`` is when it was last said. ``same_hash``: it was created from the same words as the candidate, even
    if a person has edited it. ``former_texts`` are those that a person corrected; one of them has the present text in
    ``corrected_to``. ``is_persons``: a person wrote or corrected it, and nobody else has said it. ``same_tier``: it is
    of the candidates' tier.
    """

    id: UUID
    kind: str
    text: str
    similarity: float
    deleted: bool = False
    ended: bool = False
    valid_from_index: int | None = None
    same_hash: bool = False
    said_at: dt.datetime | None = None
    former_texts: Sequence[str] = ()
    is_persons: bool = False
    same_tier: bool = True
    corrected_to: str = ""

    @property
    def is_gone(self) -> bool:
        """Return whether it is deleted or has ended."""
        return self.deleted or self.ended


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
    is_persons: bool = False  # a person's own memory, which nothing said by others replaces

    @property
    def key(self) -> UUID | int | None:
        return self.memory.id if self.memory else self.index

    @property
    def is_gone(self) -> bool:
        """Return whether it is a memory that is deleted or has ended."""
        return self.memory is not None and self.memory.is_gone

    @property
    def has_same_hash(self) -> bool:
        """Return whether it is a memory created from the same words as the candidate."""
        return self.memory is not None and self.memory.same_hash


@dataclass(frozen=True)
class Thresholds:
    """Minimum similarities of repetitions, within one kind and across two, and of statements on the same topic.

    Statements below ``same_topic`` are never repetitions or changes of each other.
    """

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float

    def is_on_topic(self, known: KnownStatement) -> bool:
        """Return whether a statement is similar enough to a candidate to be on its topic."""
        return known.similarity >= (self.same_topic if known.same_kind else self.cross_kind_duplicate)


# For hardware profile A (small local models; the built-in backend). ``same_topic`` is low because the learned
# comparison itself recognises statements on different topics (figures in docs/weights.md).
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.40)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40)


@dataclass(frozen=True)
class ComparedCandidates:
    """Candidates in the order in which they were said, and what each is compared with.

    ``neighbours`` are the most similar memories for each, nearest first. Candidates are also compared with earlier
    ones: by ``vectors`` (one unit vector per row) or, without them, by their words. The neighbours' similarities and
    ``thresholds`` must use the same measure. ``times`` are those of the turns that the candidates cite, by number, and
    ``persons_turns`` the numbers of those that the person said.
    """

    candidates: Sequence[Candidate]
    neighbours: Sequence[Sequence[Neighbour]]
    vectors: np.ndarray[Any, Any] | None = None
    given_thresholds: Thresholds | None = None
    times: Mapping[int, dt.datetime | None] = field(default_factory=dict)
    persons_turns: Set[int] = frozenset()

    @property
    def thresholds(self) -> Thresholds:
        return self.given_thresholds or (COSINE if self.vectors is not None else JACCARD)

    @cached_property
    def statements(self) -> list[list[KnownStatement]]:
        """Return the neighbours and the earlier candidates with which each candidate is compared, nearest first."""
        return [self._statements_for(index) for index in range(len(self.candidates))]

    def _statements_for(self, index: int) -> list[KnownStatement]:
        candidate = self.candidates[index]
        turn = max(candidate.sources, default=None)
        # The person may change also what they wrote or corrected. A reply of a model may not know of it.
        is_said_by_person = set(candidate.sources) <= self.persons_turns
        statements = [
            KnownStatement(
                neighbour.kind,
                neighbour.text,
                neighbour.similarity,
                # What is gone, as by a person's deletion, must not come back as another kind of memory.
                same_kind=neighbour.kind == candidate.kind or neighbour.is_gone,
                is_later=_is_later(neighbour, turn, None if turn is None else self.times.get(turn)),
                memory=neighbour,
                is_persons=neighbour.is_persons and not is_said_by_person,
            )
            for neighbour in self.neighbours[index]
        ]
        for number, earlier in enumerate(self.candidates[:index]):
            cosine = None if self.vectors is None else float(self.vectors[index] @ self.vectors[number])
            similarity = jaccard(earlier.text, candidate.text) if cosine is None else cosine
            same_kind = earlier.kind == candidate.kind
            statements.append(
                KnownStatement(earlier.kind, earlier.text, similarity, same_kind, is_later=False, index=number)
            )
        return sorted(statements, key=lambda statement: -statement.similarity)

    @property
    def uncertain_pairs(self) -> list[Pair]:
        """Return the pairs of statements on one topic about which a model should be asked, each once.

        The nearest statement of each candidate comes first, then the second nearest of each, in case not all can be
        asked.
        """
        by_candidate: list[list[Pair]] = []
        for candidate, statements in zip(self.candidates, self.statements, strict=True):
            if any(known.has_same_hash for known in statements):
                continue
            asked = [
                comparison_key(candidate, known)[:2]
                for known in statements
                if self.thresholds.is_on_topic(known) and not _have_same_words(known.text, candidate.text)
            ]
            by_candidate.append(asked[:MAX_PAIRS_PER_CANDIDATE])
        by_rank = chain.from_iterable(zip_longest(*by_candidate))
        return list(dict.fromkeys(pair for pair in by_rank if pair is not None))


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


def _have_same_words(old: str, new: str) -> bool:
    """Return whether two texts differ only in case, whitespace and punctuation."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())
