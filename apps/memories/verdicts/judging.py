"""Decide whether a candidate becomes a new memory, replaces an older one, or is a repetition. Without database access.

Repetitions are found by the same words and by similarity. Uncertain cases are decided by a language model (``answers``)
or, without one, by the learned comparison (``compare``). No hand-written rule supersedes a statement; a contradiction
only keeps a statement from being dropped as a repetition.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.comparison import Comparison
from apps.english.differences import actuality_differs, contradicts, people_differ, roles_swapped
from apps.english.retelling import brings_back, is_retold
from apps.english.words import jaccard
from apps.memories.candidates import Candidate
from apps.memories.verdicts.known_statements import (
    COSINE,
    JACCARD,
    KnownStatement,
    Neighbour,
    Pair,
    Relation,
    Thresholds,
    are_comparable,
    comparison_key,
    have_same_words,
    plain,
)

Compare = Callable[[Sequence[tuple[str, str, str]]], list[Comparison]]  # compares tuples of (older, newer, kind)

# Probabilities at which a comparison decides, chosen as described in docs/weights.md. Dropping a contradiction is worse
# than keeping a repetition, so a repetition must be almost certain. A statement that is certainly on the same matter
# and may be a change replaces the older one: if it only repeats it, nothing is lost.
MIN_DUPLICATE, MAX_SUPERSEDED_IN_DUPLICATE = 0.7, 0.12
MIN_SUPERSEDED, MAX_PASSED_IN_SUPERSEDED = 0.2, 0.35
# Pairs that a model is asked about for each candidate: those with the most similar statements.
MAX_PAIRS_PER_CANDIDATE = 3


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
                is_later=neighbour.is_later_than(turn, None if turn is None else self.times.get(turn)),
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
                if self.thresholds.is_on_topic(known) and not have_same_words(known.text, candidate.text)
            ]
            by_candidate.append(asked[:MAX_PAIRS_PER_CANDIDATE])
        by_rank = chain.from_iterable(zip_longest(*by_candidate))
        return list(dict.fromkeys(pair for pair in by_rank if pair is not None))


class Outcome(StrEnum):
    PASSED = "passed"
    REPLACES = "superseded"  # an older one, whose state becomes the same word; the counts of runs are stored by it
    RECONFIRMED = "reconfirmed"
    REJECTED = "rejected"


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


@dataclass
class _Judged:
    """The verdicts so far, and the data on which they are based."""

    thresholds: Thresholds
    answers: Mapping[Pair, Relation]
    comparisons: dict[tuple[str, str, str], Comparison] | None  # None without the learned comparison
    verdicts: list[Verdict] = field(default_factory=list)
    replaced_keys: set[UUID | int | None] = field(default_factory=set)

    def comparison(self, candidate: Candidate, known: KnownStatement) -> Comparison | None:
        return self.comparisons.get(comparison_key(candidate, known)) if self.comparisons else None

    def is_active(self, known: KnownStatement) -> bool:
        """Return whether a statement is neither replaced nor dropped by the verdicts so far."""
        if known.key in self.replaced_keys:
            return False
        verdict = None if known.index is None else self.verdicts[known.index]
        added = (Outcome.PASSED, Outcome.REPLACES)
        return verdict is None or (verdict.outcome in added and verdict.replaced_by is None)


def judge(
    compared: ComparedCandidates, *, answers: Mapping[Pair, Relation] | None = None, compare: Compare | None = None
) -> list[Verdict]:
    """Return a verdict for each candidate.

    ``answers`` are those of a model to pairs of ``uncertain_pairs``. Without them, ``compare`` is called once for the
    batch.
    """
    comparisons = _compare_all(compared, compare if answers is None else None)
    judged = _Judged(compared.thresholds, answers or {}, comparisons)
    for candidate, statements in zip(compared.candidates, compared.statements, strict=True):
        gone = [known for known in statements if known.is_gone]
        active = [known for known in statements if not known.is_gone and judged.is_active(known)]
        verdict = (
            _repetition_of_first(candidate, (known for known in statements if known.has_same_hash))
            or _repetition_of_first(candidate, (known for known in gone if _is_repetition(judged, candidate, known)))
            or _model_verdict(judged, candidate, [*gone, *active])
            or _repetition_of_first(candidate, (known for known in active if _is_repetition(judged, candidate, known)))
            or _replacement_verdict(judged, candidate, statements)
            or Verdict(candidate, Outcome.PASSED)
        )
        if verdict.outcome == Outcome.REPLACES:
            judged.replaced_keys.add(verdict.target if verdict.earlier is None else verdict.earlier)
        judged.verdicts.append(verdict)
    return judged.verdicts


def _compare_all(
    compared: ComparedCandidates, compare: Compare | None
) -> dict[tuple[str, str, str], Comparison] | None:
    """Compare each candidate with all known statements that are similar enough for a verdict."""
    if compare is None:
        return None
    pairs = {
        comparison_key(candidate, known): None
        for candidate, statements in zip(compared.candidates, compared.statements, strict=True)
        for known in statements
        if compared.thresholds.is_on_topic(known) and are_comparable(known.text, candidate.text)
    }
    return dict(zip(pairs, compare(list(pairs)), strict=True)) if pairs else {}


def _repetition_of_first(candidate: Candidate, repeated: Iterable[KnownStatement]) -> Verdict | None:
    """Return the verdict that a candidate repeats the first of some statements, if there is one."""
    return next((_repetition(candidate, known) for known in repeated), None)


def _repetition(candidate: Candidate, known: KnownStatement) -> Verdict:
    if known.memory is None:
        return Verdict(candidate, Outcome.REJECTED, reason="repeats another candidate")
    outcome = Outcome.REJECTED if known.is_gone else Outcome.RECONFIRMED
    return Verdict(candidate, outcome, known.memory.id, reason="repeats a memory")


def _model_verdict(judged: _Judged, candidate: Candidate, statements: Iterable[KnownStatement]) -> Verdict | None:
    """Return the verdict that a model's answer about the first of the statements gives, if there is one."""
    for known in statements:
        answer = judged.answers.get(comparison_key(candidate, known)[:2])
        if answer == Relation.SAME:
            return _repetition(candidate, known)
        if answer == Relation.UPDATE and not known.is_gone:
            return _replacement(candidate, known, "model")
    return None


def _replacement(candidate: Candidate, known: KnownStatement, reason: str) -> Verdict:
    """Return the verdict that the earlier one of two statements is replaced, or neither if the order is unknown.

    What a person wrote or corrected replaces what others say of it, also later.
    """
    target = known.memory.id if known.memory else None
    if known.is_persons:
        return Verdict(candidate, Outcome.PASSED, reason="a person has corrected it", replaced_by=target)
    if known.is_later is None:
        return Verdict(candidate, Outcome.PASSED, reason="may replace or be replaced", contradicts=target)
    if known.is_later:
        return Verdict(candidate, Outcome.PASSED, reason="older than its replacement", replaced_by=target)
    return Verdict(candidate, Outcome.REPLACES, target, known.index, reason)


def _is_repetition(judged: _Judged, candidate: Candidate, known: KnownStatement) -> bool:
    answer = judged.answers.get(comparison_key(candidate, known)[:2])
    if answer == Relation.INDEPENDENT or (answer == Relation.UPDATE and not known.is_gone):
        return False  # a new version of what a person deleted is not wanted either
    if known.is_gone and _says_what_is_gone(known, candidate):
        return True
    # The comparison was fitted to statements in other words.
    if plain(known.text) == plain(candidate.text):
        return True
    if judged.comparisons is None:
        limits = judged.thresholds
        is_similar = known.similarity >= (limits.duplicate if known.same_kind else limits.cross_kind_duplicate)
        return is_similar and not contradicts(known.text, candidate.text)
    comparison = judged.comparison(candidate, known)
    # The training pairs have too few exchanged roles and people, and ended or merely supposed states, to learn them.
    pair = known.text, candidate.text
    if comparison is None or roles_swapped(*pair) or actuality_differs(*pair) or people_differ(*pair):
        return False
    return comparison.duplicate >= MIN_DUPLICATE and comparison.superseded <= MAX_SUPERSEDED_IN_DUPLICATE


def _says_what_is_gone(known: KnownStatement, candidate: Candidate) -> bool:
    """Return whether a candidate retells what a person deleted, or brings back what they corrected."""
    corrected_to = known.memory.corrected_to if known.memory else ""
    if corrected_to and brings_back(known.text, corrected_to, candidate.text):
        return True
    return is_retold(known.text, candidate.text)


def _replacement_verdict(judged: _Judged, candidate: Candidate, statements: Iterable[KnownStatement]) -> Verdict | None:
    """Find the statement of the same kind that the candidate most probably replaces, or that replaces it if later.

    A statement about one person never replaces one about another.
    """
    replaced = [
        (comparison.superseded, -index, known)
        for index, known in enumerate(statements)
        if known.same_kind and not known.is_gone and judged.is_active(known)
        if (comparison := judged.comparison(candidate, known))
        if comparison.superseded >= MIN_SUPERSEDED and comparison.passed <= MAX_PASSED_IN_SUPERSEDED
        if not people_differ(known.text, candidate.text)
    ]
    if not replaced:
        return None
    return _replacement(candidate, max(replaced, key=lambda item: item[:2])[2], "comparison")
