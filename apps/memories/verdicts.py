"""Decide whether a candidate becomes a new memory, replaces an older one, or is a repetition. Without database access.

Repetitions are found by similarity. Uncertain cases are decided by a language model (``answers``) or, without one, by
the learned comparison (``compare``). No hand-written rule supersedes a statement; a contradiction only keeps a
statement from being dropped as a repetition.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, zip_longest
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.clauses import split_speaker
from apps.english.comparison import Comparison
from apps.english.differences import actuality_differs, contradicts, roles_swapped
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


# For hardware profile A (small local models; the built-in backend). ``same_topic`` is low because the learned
# comparison itself recognises statements on different topics (figures in docs/weights.md).
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.40)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40)

Pair = tuple[str, str]  # an older and a newer statement
Compare = Callable[[Sequence[tuple[str, str, str]]], list[Comparison]]  # compares tuples of (older, newer, kind)

# Probabilities at which a comparison decides, chosen as described in docs/weights.md. Dropping a contradiction is worse
# than keeping a repetition, so a repetition must be almost certain. A statement that is certainly on the same matter
# and may be a change replaces the older one: if it only repeats it, nothing is lost.
MIN_DUPLICATE, MAX_SUPERSEDED_IN_DUPLICATE = 0.7, 0.12
MIN_SUPERSEDED, MAX_PASSED_IN_SUPERSEDED = 0.2, 0.35
# Minimum Jaccard index of two quotations, which must be by one speaker, to be compared: the comparison was fitted to
# few quotations, and the vectors of quotations by one speaker are all similar.
MIN_QUOTATION_OVERLAP = 0.3
_WORD = re.compile(r"\w+")


# Pairs that a model is asked about for each candidate: those with the most similar statements.
MAX_PAIRS_PER_CANDIDATE = 3


class Relation(StrEnum):
    """How a newer statement relates to an older one, as a model answers."""

    UPDATE = "update"
    SAME = "same"
    INDEPENDENT = "independent"


class Outcome(StrEnum):
    PASSED = "passed"
    SUPERSEDED = "superseded"
    RECONFIRMED = "reconfirmed"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Neighbour:
    """A memory similar to a candidate; ``similarity`` is 0 to 1.

    ``inactive``: a person deleted it, or it is no longer active. ``valid_from_index`` is the index of the message from
    which it was extracted, if that is in the candidates' chat; ``said_at`` is when it was last said. ``same_hash``: it
    was created from the same words as the candidate, even if a person has edited it.
    """

    id: UUID
    kind: str
    text: str
    similarity: float
    inactive: bool = False
    valid_from_index: int | None = None
    same_hash: bool = False
    said_at: dt.datetime | None = None


@dataclass(frozen=True)
class Verdict:
    """The decision on ``candidate``.

    ``target`` is the memory that it replaces or repeats, ``earlier`` the index of the candidate that it replaces,
    ``replaced_by`` the memory from a later message by which it is replaced. ``contradicts`` is a memory of which the
    candidate would be the replacement or the predecessor, if it were known which of them was said later.
    """

    candidate: Candidate
    outcome: Outcome
    target: UUID | None = None
    earlier: int | None = None
    reason: str = ""
    replaced_by: UUID | None = None
    contradicts: UUID | None = None


@dataclass(frozen=True)
class _Statement:
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


@dataclass
class _Batch:
    """The verdicts so far, and the data on which they are based."""

    thresholds: Thresholds
    answers: Mapping[Pair, Relation]
    comparisons: dict[tuple[str, str, str], Comparison] | None  # None without the learned comparison
    verdicts: list[Verdict] = field(default_factory=list)
    replaced_keys: set[UUID | int | None] = field(default_factory=set)

    def comparison(self, candidate: Candidate, known: _Statement) -> Comparison | None:
        return self.comparisons.get(_comparison_key(candidate, known)) if self.comparisons else None

    def is_active(self, known: _Statement) -> bool:
        """Return whether a statement is neither replaced nor dropped by the verdicts so far."""
        if known.key in self.replaced_keys:
            return False
        verdict = None if known.index is None else self.verdicts[known.index]
        added = (Outcome.PASSED, Outcome.SUPERSEDED)
        return verdict is None or (verdict.outcome in added and verdict.replaced_by is None)


def judge(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    vectors: np.ndarray[Any, Any] | None = None,
    thresholds: Thresholds | None = None,
    answers: Mapping[Pair, Relation] | None = None,
    compare: Compare | None = None,
    times: Mapping[int, dt.datetime | None] | None = None,
) -> list[Verdict]:
    """Return a verdict for each candidate, given the most similar memories for each, nearest first.

    Candidates must be in the order in which they were said, and are also compared with each other: by ``vectors`` (one
    unit vector per row) or, without them, by their words. The neighbours' similarities and ``thresholds`` must use the
    same measure. ``answers`` are those of a model to pairs of ``uncertain_pairs``. Without them, ``compare`` is called
    once for the batch. ``times`` are the times of the turns that the candidates cite, by their numbers.
    """
    thresholds = thresholds or (COSINE if vectors is not None else JACCARD)
    by_candidate = [
        _known_statements(candidates, neighbours[index], vectors, index, times or {})
        for index in range(len(candidates))
    ]
    comparisons = _compare_all(candidates, by_candidate, thresholds, compare if answers is None else None)
    batch = _Batch(thresholds, answers or {}, comparisons)
    for candidate, statements in zip(candidates, by_candidate, strict=True):
        removed = [known for known in statements if known.is_removed]
        active = [known for known in statements if not known.is_removed and batch.is_active(known)]
        verdict = (
            _same_hash_verdict(candidate, statements)
            or _repetition_verdict(batch, candidate, removed)
            or _model_verdict(batch, candidate, [*removed, *active])
            or _repetition_verdict(batch, candidate, active)
            or _replacement_verdict(batch, candidate, statements)
            or Verdict(candidate, Outcome.PASSED)
        )
        if verdict.outcome == Outcome.SUPERSEDED:
            batch.replaced_keys.add(verdict.target if verdict.earlier is None else verdict.earlier)
        batch.verdicts.append(verdict)
    return batch.verdicts


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
        statements = _known_statements(candidates, neighbours[index], vectors, index, times or {})
        if _same_hash_verdict(candidate, statements):
            continue
        asked = [
            _comparison_key(candidate, known)[:2]
            for known in statements
            if known.similarity >= (thresholds.same_topic if known.same_kind else thresholds.cross_kind_duplicate)
            and not _have_same_words(known.text, candidate.text)
        ]
        by_candidate.append(asked[:MAX_PAIRS_PER_CANDIDATE])
    by_rank = chain.from_iterable(zip_longest(*by_candidate))
    return list(dict.fromkeys(pair for pair in by_rank if pair is not None))


def _known_statements(
    candidates: Sequence[Candidate],
    neighbours: Iterable[Neighbour],
    vectors: np.ndarray[Any, Any] | None,
    index: int,
    times: Mapping[int, dt.datetime | None],
) -> list[_Statement]:
    """Return the neighbours and the earlier candidates with which a candidate is compared, nearest first."""
    candidate = candidates[index]
    turn = max(candidate.sources, default=None)
    statements = [
        _Statement(
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
        statements.append(_Statement(earlier.kind, earlier.text, similarity, same_kind, is_later=False, index=number))
    return sorted(statements, key=lambda statement: -statement.similarity)


def _is_later(neighbour: Neighbour, turn: int | None, said_at: dt.datetime | None) -> bool | None:
    """Return whether a memory was said later than the turn: by position in one chat, by time between two."""
    if neighbour.valid_from_index is not None:
        return turn is not None and turn < neighbour.valid_from_index
    if neighbour.said_at is None or said_at is None or neighbour.said_at == said_at:
        return None
    return said_at < neighbour.said_at


def _compare_all(
    candidates: Sequence[Candidate],
    by_candidate: Sequence[Sequence[_Statement]],
    thresholds: Thresholds,
    compare: Compare | None,
) -> dict[tuple[str, str, str], Comparison] | None:
    """Compare each candidate with all known statements that are similar enough for a verdict."""
    if compare is None:
        return None
    pairs = {
        _comparison_key(candidate, known): None
        for candidate, statements in zip(candidates, by_candidate, strict=True)
        for known in statements
        if known.similarity >= (thresholds.same_topic if known.same_kind else thresholds.cross_kind_duplicate)
        and _are_comparable(known.text, candidate.text)
    }
    return dict(zip(pairs, compare(list(pairs)), strict=True)) if pairs else {}


def _are_comparable(old: str, new: str) -> bool:
    (speaker, speech), (other_speaker, other_speech) = split_speaker(old), split_speaker(new)
    if not speaker and not other_speaker:
        return True
    return speaker == other_speaker and jaccard(speech, other_speech) >= MIN_QUOTATION_OVERLAP


def _comparison_key(candidate: Candidate, known: _Statement) -> tuple[str, str, str]:
    """Return both texts in the order in which they were said, if that is known, and the kind."""
    texts = (candidate.text, known.text) if known.is_later else (known.text, candidate.text)
    return (*texts, candidate.kind)


def _same_hash_verdict(candidate: Candidate, statements: Iterable[_Statement]) -> Verdict | None:
    for known in statements:
        if known.memory and known.memory.same_hash:
            return _repetition_of(candidate, known.memory)
    return None


def _repetition_of(candidate: Candidate, neighbour: Neighbour) -> Verdict:
    outcome = Outcome.REJECTED if neighbour.inactive else Outcome.RECONFIRMED
    return Verdict(candidate, outcome, neighbour.id, reason="repeats a memory")


def _model_verdict(batch: _Batch, candidate: Candidate, statements: Iterable[_Statement]) -> Verdict | None:
    """Return the verdict that a model's answer about the first of the statements gives, if there is one."""
    for known in statements:
        answer = batch.answers.get(_comparison_key(candidate, known)[:2])
        if answer == Relation.SAME:
            return _repetition(candidate, known)
        if answer == Relation.UPDATE and not known.is_removed:
            return _replacement(candidate, known, "model")
    return None


def _replacement(candidate: Candidate, known: _Statement, reason: str) -> Verdict:
    """Return the verdict that the earlier one of two statements is replaced, or neither if the order is unknown."""
    target = known.memory.id if known.memory else None
    if known.is_later is None:
        return Verdict(candidate, Outcome.PASSED, reason="may replace or be replaced", contradicts=target)
    if known.is_later:
        return Verdict(candidate, Outcome.PASSED, reason="older than its replacement", replaced_by=target)
    return Verdict(candidate, Outcome.SUPERSEDED, target, known.index, reason)


def _have_same_words(old: str, new: str) -> bool:
    """Return whether two texts differ only in case, whitespace and punctuation."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())


def _repetition_verdict(batch: _Batch, candidate: Candidate, statements: Iterable[_Statement]) -> Verdict | None:
    for known in statements:
        if _is_repetition(batch, candidate, known):
            return _repetition(candidate, known)
    return None


def _repetition(candidate: Candidate, known: _Statement) -> Verdict:
    if known.memory:
        return _repetition_of(candidate, known.memory)
    return Verdict(candidate, Outcome.REJECTED, reason="repeats another candidate")


def _is_repetition(batch: _Batch, candidate: Candidate, known: _Statement) -> bool:
    answer = batch.answers.get(_comparison_key(candidate, known)[:2])
    if answer == Relation.INDEPENDENT or (answer == Relation.UPDATE and not known.is_removed):
        return False  # a new version of what a person deleted is not wanted either
    if batch.comparisons is None:
        limits = batch.thresholds
        is_similar = known.similarity >= (limits.duplicate if known.same_kind else limits.cross_kind_duplicate)
        return is_similar and not contradicts(known.text, candidate.text)
    comparison = batch.comparison(candidate, known)
    # The training pairs have too few exchanged roles and ended or merely supposed states to learn them.
    pair = known.text, candidate.text
    if comparison is None or roles_swapped(*pair) or actuality_differs(*pair):
        return False
    return comparison.duplicate >= MIN_DUPLICATE and comparison.superseded <= MAX_SUPERSEDED_IN_DUPLICATE


def _replacement_verdict(batch: _Batch, candidate: Candidate, statements: Iterable[_Statement]) -> Verdict | None:
    """Find the statement of the same kind that the candidate most probably replaces, or that replaces it if later."""
    replaced = [
        (comparison.superseded, -index, known)
        for index, known in enumerate(statements)
        if known.same_kind and not known.is_removed and batch.is_active(known)
        if (comparison := batch.comparison(candidate, known))
        if comparison.superseded >= MIN_SUPERSEDED and comparison.passed <= MAX_PASSED_IN_SUPERSEDED
    ]
    if not replaced:
        return None
    return _replacement(candidate, max(replaced, key=lambda item: item[:2])[2], "comparison")
