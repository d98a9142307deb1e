"""What becomes of a candidate: new, the successor of an older memory, a repetition, or nothing. Pure.

Rules decide first (``state_change``, ``restatement``), then likeness; what neither decides may be asked of a language
model (``confirm``) or, where there is none, be weighed (``comparison``).
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from apps.memories.candidates import Candidate
from apps.memories.comparison import Comparison
from apps.memories.restatement import differs, restates
from apps.memories.state_change import Change, change_between
from apps.memories.wording import jaccard, split_speaker


@dataclass(frozen=True)
class Thresholds:
    """Similarities from which two statements are the same, of two kinds the same, or about the same."""

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float
    # Below the same topic, statements that fill the same frame of the same subject still exclude each other.
    same_frame: float
    weighed: float  # the least likeness at which two statements are compared, where no rule decides


# Of hardware profiles A (small local models; the built-in backend) and B (hosted models), from memory.md.
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.55, same_frame=0.15, weighed=0.35)
COSINE_B = Thresholds(duplicate=0.85, cross_kind_duplicate=0.91, same_topic=0.52, same_frame=0.15, weighed=0.35)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40, same_frame=0.10, weighed=0.20)
JACCARD_B = Thresholds(duplicate=0.68, cross_kind_duplicate=0.78, same_topic=0.38, same_frame=0.10, weighed=0.20)

Confirm = Callable[[str, str], bool]  # whether the second statement replaces the first, as a model sees it
Compare = Callable[[Sequence[tuple[str, str, str]]], list[Comparison]]  # of (older, newer, kind) each
# Likelihoods from which a comparison decides. To lose a contradiction is worse than to keep a repetition: what may as
# well be a change (``DOUBTFUL``) is no repetition.
REPEATS, REPLACES, DOUBTFUL = 0.65, 0.45, 0.15


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
    thresholds: Thresholds | None = None,
    confirm: Confirm | None = None,
    compare: Compare | None = None,
) -> list[Verdict]:
    """A verdict for each candidate, given its neighbours among the memories, nearest first.

    Candidates stand in the order in which they were said, and are compared with each other too: by ``vectors`` (one
    row each, unit length) or, without them, by their words; the neighbours' similarities and ``thresholds`` must be of
    the same sort. ``confirm`` is asked about the nearest memory of the same kind and topic that no rule decides on;
    ``compare`` about the nearest memory or line of the same kind, and the rest counts as new.
    """
    limits = thresholds or (COSINE if vectors is not None else JACCARD)
    verdicts: list[Verdict] = []
    taken: set[UUID | int] = set()
    for number, candidate in enumerate(candidates):
        near = [_nearness(candidates, vectors, number, other) for other in range(number)]
        verdict = (
            _same_line(candidate, neighbours[number])
            or _confirmed(candidate, neighbours[number], limits, taken, confirm)
            or _repeated_memory(candidate, neighbours[number], limits)
            or _repeated_line(candidate, near, verdicts, limits, taken)
            or _replaced_line(candidate, near, verdicts, limits, taken)
            or _replaced_memory(candidate, neighbours[number], limits, taken)
            or (compare and _compared(candidate, neighbours[number], near, verdicts, limits, taken, compare))
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


def _same_line(candidate: Candidate, neighbours: Sequence[Neighbour]) -> Verdict | None:
    for neighbour in neighbours:
        if neighbour.same_line and not neighbour.evicted:
            return _repetition(candidate, neighbour)
    return None


def _repetition(candidate: Candidate, neighbour: Neighbour) -> Verdict:
    outcome = Outcome.REJECTED if neighbour.forgotten else Outcome.RECONFIRMED
    return Verdict(candidate, outcome, neighbour.id, reason="says the same")


def _confirmed(
    candidate: Candidate,
    neighbours: Sequence[Neighbour],
    thresholds: Thresholds,
    taken: Set[UUID | int],
    confirm: Confirm | None,
) -> Verdict | None:
    """The nearest memory that no rule decides on, if it is replaced as the model sees it."""
    if confirm is None:
        return None
    for neighbour in neighbours:
        if neighbour.similarity < thresholds.same_topic:
            return None
        if neighbour.forgotten or neighbour.kind != candidate.kind or neighbour.id in taken:
            continue
        if not _is_uncertain(neighbour.text, candidate.text) or _said_before(candidate, neighbour):
            return None
        replaces = confirm(neighbour.text, candidate.text)
        return Verdict(candidate, Outcome.SUPERSEDED, neighbour.id, reason="model") if replaces else None
    return None


def _is_uncertain(old: str, new: str) -> bool:
    return change_between(old, new) is None and not restates(old, new)


def _said_before(candidate: Candidate, neighbour: Neighbour) -> bool:
    said = max(candidate.sources, default=None)
    return said is not None and neighbour.since is not None and said < neighbour.since


def _repeated_memory(candidate: Candidate, neighbours: Sequence[Neighbour], thresholds: Thresholds) -> Verdict | None:
    for neighbour in neighbours:
        same_kind = candidate.kind == neighbour.kind
        if not neighbour.evicted and _repeats(
            neighbour.text, candidate.text, neighbour.similarity, thresholds, same_kind=same_kind
        ):
            return _repetition(candidate, neighbour)
    return None


def _repeated_line(
    candidate: Candidate,
    near: Sequence[float],
    verdicts: Sequence[Verdict],
    thresholds: Thresholds,
    taken: Set[UUID | int],
) -> Verdict | None:
    for number, verdict in enumerate(verdicts):
        same_kind = candidate.kind == verdict.candidate.kind
        if (
            _is_kept(verdict)
            and number not in taken
            and _repeats(verdict.candidate.text, candidate.text, near[number], thresholds, same_kind=same_kind)
        ):
            return Verdict(candidate, Outcome.REJECTED, reason="repeats another line")
    return None


def _repeats(old: str, new: str, similarity: float, thresholds: Thresholds, *, same_kind: bool) -> bool:
    """Whether the newer statement adds nothing: alike enough without a difference, or the same in other words."""
    if similarity >= (thresholds.duplicate if same_kind else thresholds.cross_kind_duplicate):
        return not differs(old, new) and change_between(old, new) is None
    if not same_kind or similarity < thresholds.same_topic:
        return False
    return restates(old, new) and change_between(old, new) is None


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
    for neighbour in neighbours:
        if (neighbour.forgotten and not neighbour.evicted) or neighbour.id in taken:
            continue
        change = _change(neighbour.text, candidate.text, neighbour.similarity, thresholds)
        if change and _said_before(candidate, neighbour):
            return Verdict(candidate, Outcome.REJECTED, neighbour.id, reason="said before what replaced it")
        if change:
            return Verdict(candidate, Outcome.SUPERSEDED, neighbour.id, reason=change.reason)
    return None


def _compared(
    candidate: Candidate,
    neighbours: Sequence[Neighbour],
    near: Sequence[float],
    verdicts: Sequence[Verdict],
    thresholds: Thresholds,
    taken: Set[UUID | int],
    compare: Compare,
) -> Verdict | None:
    """What becomes of a candidate beside the one statement of its kind that is nearest.

    Quotations are left alone: the weights were learnt from plain statements, and what people say is seldom one.
    """
    memories: list[tuple[float, str, Neighbour | int]] = [
        (one.similarity, one.text, one)
        for one in neighbours
        if one.kind == candidate.kind and not one.forgotten and one.id not in taken
    ]
    lines: list[tuple[float, str, Neighbour | int]] = [
        (near[number], one.candidate.text, number)
        for number, one in enumerate(verdicts)
        if one.candidate.kind == candidate.kind and _is_kept(one) and number not in taken
    ]
    likeness, text, nearest = max([*memories, *lines], key=lambda one: one[0], default=(0.0, "", 0))
    if likeness < thresholds.weighed or _is_quoted(text) or _is_quoted(candidate.text):
        return None
    [found] = compare([(text, candidate.text, candidate.kind)])
    if found.duplicate >= REPEATS and found.superseded <= DOUBTFUL:
        if isinstance(nearest, Neighbour):
            return _repetition(candidate, nearest)
        return Verdict(candidate, Outcome.REJECTED, reason="repeats another line")
    if found.superseded < REPLACES or candidate.kind == "event":
        return None  # what has happened stays so; that a plan has changed is for rules to see
    if isinstance(nearest, int):
        return Verdict(candidate, Outcome.SUPERSEDED, earlier=nearest, reason="weighed")
    if _said_before(candidate, nearest):
        return None
    return Verdict(candidate, Outcome.SUPERSEDED, nearest.id, reason="weighed")


def _change(old: str, new: str, similarity: float, thresholds: Thresholds) -> Change | None:
    """The change from one statement to another that is about the same."""
    if similarity < thresholds.same_frame:
        return None
    change = change_between(old, new)
    enough = (thresholds.same_frame + thresholds.same_topic) / 2
    return None if change and change.by_words and similarity < enough else change


def _is_quoted(text: str) -> bool:
    return bool(split_speaker(text)[0])


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED)
