"""What becomes of a candidate: new, the successor of an older memory, a repetition, or nothing. Pure.

Thresholds are those of memory.md for profile A (small local models; the built-in backend).
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from apps.memories.line_format import Candidate
from apps.memories.state_change import Change, change_between
from apps.memories.wording import jaccard


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
    """A memory that is remembered, or was and is ``forgotten``, and how similar it is, 0 to 1.

    ``since`` is the number of the turn that it stems from, where it stems from the candidates' own chat.
    ``same_line``: it was made from the candidate's very words, whatever a person has made of it since. ``evicted``: it
    had to make room, but nothing has replaced it.
    """

    id: UUID
    kind: str
    text: str
    similarity: float
    forgotten: bool = False
    since: int | None = None
    same_line: bool = False
    evicted: bool = False


@dataclass(frozen=True)
class Verdict:
    """What becomes of ``candidate``. ``target`` is the memory that it replaces or repeats, ``earlier`` the number of
    the candidate before it that it replaces."""

    candidate: Candidate
    outcome: Outcome
    target: UUID | None = None
    earlier: int | None = None
    reason: str = ""


def judge(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None = None,
) -> list[Verdict]:
    """A verdict for each candidate, given its neighbours among the memories, nearest first.

    Candidates stand in the order in which they were said, and are compared with each other too: by ``vectors`` (one
    row each, unit length) or, without them, by their words; the neighbours' similarities must be of the same sort.
    """
    thresholds = COSINE if vectors is not None else JACCARD
    verdicts: list[Verdict] = []
    taken: set[UUID | int] = set()
    for number, candidate in enumerate(candidates):
        near = [_nearness(candidates, vectors, number, other) for other in range(number)]
        verdict = (
            _repeated_memory(candidate, neighbours[number], thresholds)
            or _repeated_line(candidate, near, verdicts, thresholds, taken)
            or _replaced_line(candidate, near, verdicts, thresholds, taken)
            or _replaced_memory(candidate, neighbours[number], thresholds, taken)
            or Verdict(candidate, Outcome.PASSED)
        )
        if verdict.outcome == Outcome.SUPERSEDED:
            taken |= {item for item in (verdict.target, verdict.earlier) if item is not None}
        verdicts.append(verdict)
    return verdicts


def _nearness(candidates: Sequence[Candidate], vectors: np.ndarray[Any, Any] | None, number: int, other: int) -> float:
    if vectors is None:
        return jaccard(candidates[number].text, candidates[other].text)
    return float(vectors[number] @ vectors[other])


def _repeated_memory(candidate: Candidate, neighbours: Sequence[Neighbour], thresholds: Thresholds) -> Verdict | None:
    for neighbour in neighbours:
        alike = _is_duplicate(candidate.kind, neighbour.kind, neighbour.similarity, thresholds)
        if neighbour.evicted:
            continue
        if neighbour.same_line or (alike and change_between(neighbour.text, candidate.text) is None):
            outcome = Outcome.REJECTED if neighbour.forgotten else Outcome.RECONFIRMED
            return Verdict(candidate, outcome, neighbour.id, reason="says the same")
    return None


def _repeated_line(
    candidate: Candidate,
    near: Sequence[float],
    verdicts: Sequence[Verdict],
    thresholds: Thresholds,
    taken: Set[UUID | int],
) -> Verdict | None:
    for number, verdict in enumerate(verdicts):
        alike = _is_duplicate(candidate.kind, verdict.candidate.kind, near[number], thresholds)
        if (
            _is_kept(verdict)
            and number not in taken
            and alike
            and change_between(verdict.candidate.text, candidate.text) is None
        ):
            return Verdict(candidate, Outcome.REJECTED, reason="repeats another line")
    return None


def _replaced_line(
    candidate: Candidate,
    near: Sequence[float],
    verdicts: Sequence[Verdict],
    thresholds: Thresholds,
    taken: Set[UUID | int],
) -> Verdict | None:
    """The latest of the lines before that the candidate replaces."""
    for number in reversed(range(len(verdicts))):
        verdict = verdicts[number]
        if number in taken or not _is_kept(verdict):
            continue
        change = _change(verdict.candidate.text, candidate.text, near[number], thresholds)
        if change:
            return Verdict(candidate, Outcome.SUPERSEDED, earlier=number, reason=change.reason)
    return None


def _replaced_memory(
    candidate: Candidate, neighbours: Sequence[Neighbour], thresholds: Thresholds, taken: Set[UUID | int]
) -> Verdict | None:
    said = max(candidate.sources, default=None)
    for neighbour in neighbours:
        if (neighbour.forgotten and not neighbour.evicted) or neighbour.id in taken:
            continue
        change = _change(neighbour.text, candidate.text, neighbour.similarity, thresholds)
        if change and said is not None and neighbour.since is not None and said < neighbour.since:
            return Verdict(candidate, Outcome.REJECTED, neighbour.id, reason="said before what replaced it")
        if change:
            return Verdict(candidate, Outcome.SUPERSEDED, neighbour.id, reason=change.reason)
    return None


def _change(old: str, new: str, similarity: float, thresholds: Thresholds) -> Change | None:
    """The change from one statement to another that is about the same."""
    if similarity < thresholds.same_frame:
        return None
    change = change_between(old, new)
    needs_the_same_topic = change is not None and change.reason in ("over", "exposed", "number", "name")
    return None if needs_the_same_topic and similarity < thresholds.same_topic else change


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED)


def _is_duplicate(kind: str, other: str, similarity: float, thresholds: Thresholds) -> bool:
    return similarity >= (thresholds.duplicate if kind == other else thresholds.cross_kind_duplicate)
