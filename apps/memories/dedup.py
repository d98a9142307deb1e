"""What becomes of a candidate: new, the successor of an older memory, a repetition, or nothing. Pure.

Thresholds are those of memory.md for profile A (small local models; the built-in backend).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from apps.memories.line_format import Candidate
from apps.memories.state_change import change_between, content_words


@dataclass(frozen=True)
class Thresholds:
    """Similarities from which two statements are the same, of two kinds the same, or about the same."""

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float
    # Below the same topic, statements that fill the same frame of the same subject still exclude each other.
    same_frame: float


COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.55, same_frame=0.30)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40, same_frame=0.15)


class Outcome(StrEnum):
    PASSED = "passed"
    SUPERSEDED = "superseded"
    RECONFIRMED = "reconfirmed"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Neighbour:
    """A memory that is remembered, or was and is ``forgotten``, and how similar it is, 0 to 1."""

    id: UUID
    kind: str
    text: str
    similarity: float
    forgotten: bool = False


@dataclass(frozen=True)
class Verdict:
    """What becomes of ``candidate``. ``target`` is the memory that it replaces or repeats."""

    candidate: Candidate
    outcome: Outcome
    target: UUID | None = None
    reason: str = ""


def judge(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None = None,
) -> list[Verdict]:
    """A verdict for each candidate, given its neighbours among the active memories, nearest first.

    Candidates are compared with each other too, by ``vectors`` (one row each, unit length) or, without them, by
    their words; the neighbours' similarities must be of the same sort.
    """
    thresholds = COSINE if vectors is not None else JACCARD
    verdicts: list[Verdict] = []
    taken: set[UUID] = set()
    for i, candidate in enumerate(candidates):
        verdict = _against_batch(candidate, i, verdicts, vectors, thresholds)
        verdict = verdict or _against_memories(candidate, neighbours[i], thresholds, taken)
        if verdict.outcome == Outcome.SUPERSEDED and verdict.target:
            taken.add(verdict.target)
        verdicts.append(verdict)
    return verdicts


def _against_batch(
    candidate: Candidate,
    index: int,
    earlier: Sequence[Verdict],
    vectors: np.ndarray[Any, Any] | None,
    thresholds: Thresholds,
) -> Verdict | None:
    for j, other in enumerate(earlier):
        if other.outcome == Outcome.REJECTED:
            continue
        near = jaccard(candidate.text, other.candidate.text) if vectors is None else float(vectors[index] @ vectors[j])
        alike = _is_duplicate(candidate.kind, other.candidate.kind, near, thresholds)
        if alike and not change_between(other.candidate.text, candidate.text):
            return Verdict(candidate, Outcome.REJECTED, reason="repeats another line")
    return None


def _against_memories(
    candidate: Candidate, neighbours: Sequence[Neighbour], thresholds: Thresholds, taken: set[UUID]
) -> Verdict:
    for neighbour in neighbours:
        if _is_duplicate(candidate.kind, neighbour.kind, neighbour.similarity, thresholds):
            if change_between(neighbour.text, candidate.text) is None:
                outcome = Outcome.REJECTED if neighbour.forgotten else Outcome.RECONFIRMED
                return Verdict(candidate, outcome, neighbour.id, "says the same")
    for neighbour in neighbours:
        if neighbour.forgotten or neighbour.id in taken or neighbour.similarity < thresholds.same_frame:
            continue
        change = change_between(neighbour.text, candidate.text)
        if change and (
            neighbour.similarity >= thresholds.same_topic or change.reason not in ("over", "number", "name")
        ):
            return Verdict(candidate, Outcome.SUPERSEDED, neighbour.id, change.reason)
    return Verdict(candidate, Outcome.PASSED)


def _is_duplicate(kind: str, other: str, similarity: float, thresholds: Thresholds) -> bool:
    return similarity >= (thresholds.duplicate if kind == other else thresholds.cross_kind_duplicate)


def jaccard(first: str, second: str) -> float:
    """The share of the words of both that both have; punctuation, case and common words don't count."""
    one, two = content_words(first), content_words(second)
    return len(one & two) / len(one | two) if one | two else 1.0
