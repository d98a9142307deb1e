"""Decide what becomes of a candidate: a new memory, the successor of an older one, or a repetition. Pure.

Similarity finds repetitions. What is uncertain is decided by a language model (``confirm``) or, without one, by the
learned comparison (``compare``). No hand-written rule supersedes a statement; a contradiction only keeps a statement
from being dropped as a repetition.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.clauses import split_speaker
from apps.english.comparison import Comparison
from apps.english.differences import contradicts, roles_swapped
from apps.english.words import jaccard
from apps.memories.candidates import Candidate


@dataclass(frozen=True)
class Thresholds:
    """Minimum similarities of repetitions, within one kind and across two, and of statements on the same topic.

    Statements below ``same_topic`` are never repetitions or changes of each other.
    """

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float


# For hardware profiles A (small local models; the built-in backend) and B (hosted models). The learned comparison tells
# statements of two topics apart by itself, so that A's topic may be wide: docs/weights.md has the figures.
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.40)
COSINE_B = Thresholds(duplicate=0.85, cross_kind_duplicate=0.91, same_topic=0.52)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40)
JACCARD_B = Thresholds(duplicate=0.68, cross_kind_duplicate=0.78, same_topic=0.38)

Confirm = Callable[[str, str], bool]  # whether the second statement replaces the first, as a model sees it
Compare = Callable[[Sequence[tuple[str, str, str]]], list[Comparison]]  # of (older, newer, kind) each

# Likelihoods at which a comparison decides; docs/weights.md tells how they were chosen. A lost contradiction is worse
# than a repetition that is kept, so little doubt is allowed in a repetition. A statement that is surely on the same
# matter and may be a change replaces the older one: if it only repeats it, nothing is lost.
MIN_DUPLICATE, MAX_SUPERSEDED_IN_DUPLICATE = 0.7, 0.12
MIN_SUPERSEDED, MAX_PASSED_IN_SUPERSEDED = 0.2, 0.35
# Jaccard index from which quotations are compared, those of one speaker only: the tables have few quotations, and the
# vectors of what one person says are all alike.
QUOTED_TOPIC = 0.3
_WORD = re.compile(r"\w+")


class Outcome(StrEnum):
    PASSED = "passed"
    SUPERSEDED = "superseded"
    RECONFIRMED = "reconfirmed"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Neighbour:
    """A memory near a candidate, and how similar it is, 0 to 1.

    ``forgotten``: a person deleted it, or it is no longer active. ``since`` is the number of the turn that it stems
    from, where it stems from the candidates' own chat. ``same_line``: it was made from the candidate's very words,
    whatever a person has made of it since. ``evicted``: it had to make room, but nothing has replaced it.
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
    """The decision on ``candidate``.

    ``target`` is the memory that it replaces or repeats, ``earlier`` the index of the earlier candidate that it
    replaces.
    """

    candidate: Candidate
    outcome: Outcome
    target: UUID | None = None
    earlier: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class _Near:
    """A memory, or an earlier line of the same batch, next to a candidate."""

    kind: str
    text: str
    similarity: float
    same_kind: bool
    said_later: bool  # than the candidate
    memory: Neighbour | None = None
    line: int | None = None

    @property
    def key(self) -> UUID | int | None:
        return self.memory.id if self.memory else self.line

    @property
    def gone(self) -> bool:
        """Whether a person deleted it, or something replaced it."""
        return self.memory is not None and self.memory.forgotten and not self.memory.evicted


@dataclass
class _Batch:
    """The verdicts so far, and what they rest on."""

    limits: Thresholds
    confirm: Confirm | None
    found: dict[tuple[str, str, str], Comparison] | None  # None without the learned comparison
    verdicts: list[Verdict] = field(default_factory=list)
    taken: set[UUID | int | None] = field(default_factory=set)  # replaced by a candidate of the batch

    def comparison(self, candidate: Candidate, near: _Near) -> Comparison | None:
        return self.found.get(_pair(candidate, near)) if self.found else None

    def stands(self, near: _Near) -> bool:
        """Return whether a memory or line is remembered after the verdicts so far."""
        if near.key in self.taken:
            return False
        return near.line is None or self.verdicts[near.line].outcome in (Outcome.PASSED, Outcome.SUPERSEDED)


def judge(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None = None,
    thresholds: Thresholds | None = None,
    confirm: Confirm | None = None,
    compare: Compare | None = None,
) -> list[Verdict]:
    """Return a verdict for each candidate, given its neighbours among the memories, nearest first.

    Candidates stand in the order in which they were said, and are compared with each other too: by ``vectors`` (one
    row each, unit length) or, without them, by their words; the neighbours' similarities and ``thresholds`` must be of
    the same sort. ``compare`` is called once for the batch, and not at all where there is ``confirm``.
    """
    limits = thresholds or (COSINE if vectors is not None else JACCARD)
    near = [_near(candidates, neighbours[number], vectors, number) for number in range(len(candidates))]
    batch = _Batch(limits, confirm, _compared(candidates, near, limits, None if confirm else compare))
    for candidate, others in zip(candidates, near, strict=True):
        verdict = (
            _same_line(candidate, others)
            or _repeated(batch, candidate, [one for one in others if one.gone])
            or _confirmed(batch, candidate, others)
            or _repeated(batch, candidate, [one for one in others if not one.gone and batch.stands(one)])
            or _replaced(batch, candidate, others)
            or Verdict(candidate, Outcome.PASSED)
        )
        if verdict.outcome == Outcome.SUPERSEDED:
            batch.taken.add(verdict.target if verdict.earlier is None else verdict.earlier)
        batch.verdicts.append(verdict)
    return batch.verdicts


def _near(
    candidates: Sequence[Candidate],
    neighbours: Iterable[Neighbour],
    vectors: np.ndarray[Any, Any] | None,
    number: int,
) -> list[_Near]:
    """Return the memories and the earlier lines next to a candidate, nearest first."""
    candidate = candidates[number]
    said = max(candidate.sources, default=None)
    near = [
        _Near(
            one.kind,
            one.text,
            one.similarity,
            one.kind == candidate.kind,
            said_later=said is not None and one.since is not None and said < one.since,
            memory=one,
        )
        for one in neighbours
    ]
    for place, line in enumerate(candidates[:number]):
        likeness = jaccard(line.text, candidate.text) if vectors is None else float(vectors[number] @ vectors[place])
        near.append(_Near(line.kind, line.text, likeness, line.kind == candidate.kind, said_later=False, line=place))
    return sorted(near, key=lambda one: -one.similarity)


def _compared(
    candidates: Sequence[Candidate], near: Sequence[Sequence[_Near]], limits: Thresholds, compare: Compare | None
) -> dict[tuple[str, str, str], Comparison] | None:
    """Return the comparison of each candidate with all that is near enough for a verdict."""
    if compare is None:
        return None
    pairs = {
        _pair(candidate, one): None
        for candidate, others in zip(candidates, near, strict=True)
        for one in others
        if one.similarity >= (limits.same_topic if one.same_kind else limits.cross_kind_duplicate)
        and _comparable(one.text, candidate.text)
    }
    return dict(zip(pairs, compare(list(pairs)), strict=True)) if pairs else {}


def _comparable(old: str, new: str) -> bool:
    (speaker, said), (other_speaker, other_said) = split_speaker(old), split_speaker(new)
    if not speaker and not other_speaker:
        return True
    return speaker == other_speaker and jaccard(said, other_said) >= QUOTED_TOPIC


def _pair(candidate: Candidate, near: _Near) -> tuple[str, str, str]:
    """Return both texts in the order in which they were said, and the kind."""
    texts = (candidate.text, near.text) if near.said_later else (near.text, candidate.text)
    return (*texts, candidate.kind)


def _same_line(candidate: Candidate, others: Iterable[_Near]) -> Verdict | None:
    for near in others:
        if near.memory and near.memory.same_line and not near.memory.evicted:
            return _repetition(candidate, near.memory)
    return None


def _repetition(candidate: Candidate, neighbour: Neighbour) -> Verdict:
    outcome = Outcome.REJECTED if neighbour.forgotten else Outcome.RECONFIRMED
    return Verdict(candidate, outcome, neighbour.id, reason="says the same")


def _confirmed(batch: _Batch, candidate: Candidate, others: Iterable[_Near]) -> Verdict | None:
    """Ask the model about the nearest memory of the same kind and topic, unless it is in the same words."""
    if batch.confirm is None:
        return None
    for near in others:
        if near.similarity < batch.limits.same_topic:
            return None
        if (near.memory and near.memory.forgotten) or not near.same_kind or not batch.stands(near):
            continue
        if near.said_later or _same_words(near.text, candidate.text):
            return None
        replaces = batch.confirm(near.text, candidate.text)
        target = near.memory.id if near.memory else None
        return Verdict(candidate, Outcome.SUPERSEDED, target, earlier=near.line, reason="model") if replaces else None
    return None


def _same_words(old: str, new: str) -> bool:
    """Return whether two texts differ in case, blanks and punctuation at most."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())


def _repeated(batch: _Batch, candidate: Candidate, others: Iterable[_Near]) -> Verdict | None:
    for near in others:
        evicted = near.memory is not None and near.memory.evicted
        if evicted or not _repeats(batch, candidate, near):
            continue
        if near.memory:
            return _repetition(candidate, near.memory)
        return Verdict(candidate, Outcome.REJECTED, reason="repeats another line")
    return None


def _repeats(batch: _Batch, candidate: Candidate, near: _Near) -> bool:
    if batch.found is None:
        limits = batch.limits
        alike = near.similarity >= (limits.duplicate if near.same_kind else limits.cross_kind_duplicate)
        return alike and not contradicts(near.text, candidate.text)
    found = batch.comparison(candidate, near)
    if found is None or roles_swapped(near.text, candidate.text):  # too rare in the tables to be learned
        return False
    return found.duplicate >= MIN_DUPLICATE and found.superseded <= MAX_SUPERSEDED_IN_DUPLICATE


def _replaced(batch: _Batch, candidate: Candidate, others: Iterable[_Near]) -> Verdict | None:
    """Find the statement of the same kind that the candidate most likely replaces, or that has replaced it already."""
    replaced = [
        (found.superseded, -position, near)
        for position, near in enumerate(others)
        if near.same_kind and not near.gone and batch.stands(near) and (found := batch.comparison(candidate, near))
        if found.superseded >= MIN_SUPERSEDED and found.passed <= MAX_PASSED_IN_SUPERSEDED
    ]
    if not replaced:
        return None
    near = max(replaced, key=lambda item: item[:2])[2]
    target = near.memory.id if near.memory else None
    if near.said_later:
        return Verdict(candidate, Outcome.REJECTED, target, reason="said before what replaced it")
    return Verdict(candidate, Outcome.SUPERSEDED, target, earlier=near.line, reason="comparison")
