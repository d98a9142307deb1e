"""Verdicts: what is new, what replaces, what repeats; with a model, with the learned comparison, or by likeness."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.english.comparison import Comparison, compare
from apps.english.words import jaccard
from apps.extraction.memories import outcomes
from apps.extraction.memories.lines import Candidate
from apps.extraction.memories.outcomes import comparison_for
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.memories.verdicts.judging import (
    MAX_PASSED_IN_SUPERSEDED,
    MAX_SUPERSEDED_IN_DUPLICATE,
    MIN_DUPLICATE,
    MIN_SUPERSEDED,
    Compare,
    ComparedCandidates,
    Outcome,
    Verdict,
    judge,
)
from apps.memories.verdicts.known_statements import COSINE, Neighbour, Relation, Thresholds


def line(text: str, kind: str = "fact", source: int = 0) -> Candidate:
    return Candidate(kind, text, sources=(source,))


def known(text: str, similarity: float, kind: str = "fact", **fields: object) -> Neighbour:
    """A memory from the first message of the candidates' chat, unless ``fields`` say otherwise."""
    return Neighbour(uuid4(), kind, text, similarity, **{"valid_from_index": 0} | fields)  # type: ignore[arg-type]


def unit(*angles: float) -> np.ndarray:
    """Rows of length 1 in the plane, so that the cosine of two is that of the angle between them."""
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles])


def here(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Compare with the weights in use."""
    return compare(pairs, get_embedder().embed)


class Scales:
    """Says the same of every pair, and remembers each call."""

    def __init__(self, superseded: float, duplicate: float) -> None:
        self.found = Comparison(superseded, duplicate, 1 - superseded - duplicate)
        self.calls: list[Sequence[tuple[str, str, str]]] = []

    def __call__(self, pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
        self.calls.append(pairs)
        return [self.found] * len(pairs)


def verdict_on(candidate: Candidate, *neighbours: Neighbour) -> Verdict:
    return judge(ComparedCandidates([candidate], [neighbours], unit(0.0)))[0]


@pytest.mark.parametrize(
    ("similarity", "kind", "outcome"),
    [
        (0.82, "fact", Outcome.RECONFIRMED),
        (0.81, "fact", Outcome.PASSED),
        (0.88, "event", Outcome.RECONFIRMED),
        (0.87, "event", Outcome.PASSED),
    ],
)
def test_thresholds_of_duplicates(similarity: float, kind: str, outcome: Outcome) -> None:
    old = known("Mira is fond of long walks by the sea.", similarity, kind)
    verdict = verdict_on(line("Mira enjoys walking along the shore."), old)
    assert verdict.outcome == outcome
    assert verdict.target == (old.id if outcome == Outcome.RECONFIRMED else None)


CONTRADICTIONS = [
    ("Mira likes tea.", "Mira does not like tea."),
    ("Mira has two sisters.", "Mira has three sisters."),
    ("Mira's brother is called Tom.", "Mira's brother is called Ben."),
    ("Bram owes Ada ten crowns.", "Ada owes Bram ten crowns."),
    ("Tom turned the lamp on.", "Tom turned the lamp off."),
    ("Yara visited the shrine in spring.", "Yara visited the shrine in autumn."),
    ("The key lies under the mat.", "The lamp lies under the mat."),
]


@pytest.mark.parametrize(("old", "new"), CONTRADICTIONS)
@pytest.mark.parametrize("compare", [None, here], ids=["by likeness", "compared"])
def test_a_near_duplicate_that_contradicts_is_never_dropped(old: str, new: str, compare: Compare | None) -> None:
    verdict = judge(ComparedCandidates([line(new)], [[known(old, 0.97)]], unit(0.0)), compare=compare)[0]
    assert verdict.outcome in (Outcome.PASSED, Outcome.REPLACES)
    lines = judge(ComparedCandidates([line(old), line(new)], [[], []], unit(0.0, 0.1)), compare=compare)
    assert lines[1].outcome in (Outcome.PASSED, Outcome.REPLACES)


def test_the_thresholds_of_profile_b_ask_for_more() -> None:
    old = known("Mira is fond of long walks by the sea.", 0.84)
    candidate = line("Mira enjoys walking along the shore.")
    assert judge(ComparedCandidates([candidate], [[old]], unit(0.0)))[0].outcome == Outcome.RECONFIRMED
    stricter = Thresholds(duplicate=0.85, cross_kind_duplicate=0.91, same_topic=0.52)
    assert judge(ComparedCandidates([candidate], [[old]], unit(0.0), stricter))[0].outcome == Outcome.PASSED


def answered(relation: Relation, candidate: Candidate, *neighbours: Neighbour, **options: Any) -> Verdict:
    """Verdict with a model that gives one answer about every pair it is asked about."""
    answers = dict.fromkeys(ComparedCandidates([candidate], [neighbours], unit(0.0)).uncertain_pairs, relation)
    return judge(ComparedCandidates([candidate], [neighbours], unit(0.0)), answers=answers, **options)[0]


@pytest.mark.parametrize(
    ("relation", "outcome"),
    [
        (Relation.UPDATE, Outcome.REPLACES),
        (Relation.SAME, Outcome.RECONFIRMED),
        (Relation.INDEPENDENT, Outcome.PASSED),
    ],
)
@pytest.mark.parametrize("similarity", [0.5, 0.95])
def test_a_model_decides_whatever_the_similarity(relation: Relation, outcome: Outcome, similarity: float) -> None:
    old, farther = known("Mira sits by the window.", similarity), known("Mira reads a letter.", 0.45)
    verdict = answered(relation, line("Mira paces the hall."), old, farther)
    assert (verdict.outcome, verdict.target) == (outcome, None if outcome == Outcome.PASSED else old.id)


def test_a_model_is_asked_about_every_pair_on_a_topic_once() -> None:
    old, farther = known("Mira sits by the window.", 0.7), known("Mira reads a letter.", 0.6)
    lines = [line("Mira paces the hall."), line("Mira leaves the hall.")]
    pairs = ComparedCandidates(lines, [[old, farther], [old]], unit(0.0, 0.5)).uncertain_pairs
    assert sorted(pairs) == sorted(
        [
            (old.text, lines[0].text),
            (farther.text, lines[0].text),
            (old.text, lines[1].text),
            (lines[0].text, lines[1].text),
        ]
    )


@pytest.mark.parametrize(
    "neighbour",
    [
        known("Mira sits by the window.", COSINE.same_topic - 0.01),
        known("Mira sits by the window.", 0.7, "event"),
        known("Mira lives in Paris!", 0.9),
        known("Mira sits by the window.", 0.7, same_hash=True),
    ],
)
def test_a_model_is_not_asked_of_what_is_settled(neighbour: Neighbour) -> None:
    assert ComparedCandidates([line("Mira lives in Paris.")], [[neighbour]], unit(0.0)).uncertain_pairs == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mira is a knight.", "Mira retired to her room."),
        ("Aldric is married to Lena.", "Aldric drew a single arrow."),
        ("Mira guards the gate.", "Mira killed the guard."),
        ("Mira lives in Paris.", "Mira moved to Lyon."),
        ("The gate is locked.", "The gate stands open."),
    ],
)
@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_with_a_model_connected_nothing_else_replaces(old: str, new: str, similarity: float) -> None:
    scales = Scales(1.0, 0.0)
    neighbour = known(old, similarity)
    verdict = answered(Relation.INDEPENDENT, line(new), neighbour, compare=scales)
    assert (verdict.outcome, scales.calls) == (Outcome.PASSED, [])
    replaced = answered(Relation.UPDATE, line(new), neighbour, compare=scales)
    assert (replaced.outcome == Outcome.REPLACES) == (similarity >= COSINE.same_topic)


def test_without_an_answer_of_the_model_a_near_duplicate_repeats_and_nothing_is_replaced() -> None:
    old = known("Mira is fond of long walks by the sea.", 0.9)
    verdict = judge(ComparedCandidates([line("Mira enjoys walking along the shore.")], [[old]], unit(0.0)), answers={})[
        0
    ]
    assert verdict.outcome == Outcome.RECONFIRMED
    old = known("Mira lives in Paris.", 0.7)
    assert (
        judge(ComparedCandidates([line("Mira moved to Lyon.")], [[old]], unit(0.0)), answers={})[0].outcome
        == Outcome.PASSED
    )


@pytest.mark.parametrize("relation", [None, *Relation])
def test_what_a_person_deleted_is_looked_at_first(relation: Relation | None) -> None:
    gone, active = known("Mira likes tea.", 0.95, deleted=True), known("Mira drinks a lot.", 0.96)
    new = line("Mira likes tea very much.")
    if relation is None:
        verdict = judge(ComparedCandidates([new], [[active, gone]], unit(0.0)), compare=Scales(0.0, 1.0))[0]
    elif relation == Relation.INDEPENDENT:
        assert answered(relation, new, active, gone).outcome == Outcome.PASSED  # the model tells the two apart
        return
    else:
        verdict = answered(relation, new, active, gone)
    assert (verdict.outcome, verdict.target) == (Outcome.REJECTED, gone.id)


def test_what_a_person_deleted_is_not_replaced() -> None:
    gone = known("Mira likes tea.", 0.95, deleted=True)
    assert (
        judge(ComparedCandidates([line("Mira hates it.")], [[gone]], unit(0.0)), compare=Scales(1.0, 0.0))[0].outcome
        == Outcome.PASSED
    )


def test_the_same_line_is_known_whatever_a_person_made_of_it() -> None:
    edited = known("Something else.", 0.1, same_hash=True)
    assert verdict_on(line("Mira lives in Paris."), edited).outcome == Outcome.RECONFIRMED


OLD, NEW = "Mira keeps the bridge.", "Mira herds goats in the hills."


def compared(scales: Scales, old: str = OLD, new: str = NEW, similarity: float = 0.5, **fields: object) -> Verdict:
    return judge(ComparedCandidates([line(new)], [[known(old, similarity, **fields)]], unit(0.0)), compare=scales)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("superseded", "duplicate", "outcome"),
    [
        (1 - MAX_PASSED_IN_SUPERSEDED, 0.0, Outcome.REPLACES),
        (0.99 - MAX_PASSED_IN_SUPERSEDED, 0.0, Outcome.PASSED),
        (MAX_SUPERSEDED_IN_DUPLICATE, MIN_DUPLICATE, Outcome.RECONFIRMED),
        (MAX_SUPERSEDED_IN_DUPLICATE + 0.01, 0.8, Outcome.PASSED),  # it may be a change
        (MIN_SUPERSEDED, 0.9 - MIN_SUPERSEDED, Outcome.REPLACES),  # surely on the same matter
        (0.0, MIN_DUPLICATE - 0.01, Outcome.PASSED),
    ],
)
def test_from_which_likelihood_a_comparison_decides(superseded: float, duplicate: float, outcome: Outcome) -> None:
    assert compared(Scales(superseded, duplicate)).outcome == outcome


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("Ann is allergic to peanuts.", "Ann is allergic to peanuts.", Outcome.RECONFIRMED),
        ("ann: “I am allergic to peanuts.”", "ann: “I am allergic to peanuts!”", Outcome.RECONFIRMED),
        ("Mira: “I like tea.”", "Mira: “I like tea”", Outcome.RECONFIRMED),
        ("Mira knows C.", "Mira knows C++.", Outcome.PASSED),
        ("It was -5 degrees.", "It was 5 degrees.", Outcome.PASSED),
    ],
)
def test_a_statement_in_the_same_words_is_a_repetition(old: str, new: str, outcome: Outcome) -> None:
    assert compared(Scales(0.15, 0.5), old, new).outcome == outcome
    if old.isascii() and outcome == Outcome.RECONFIRMED:
        batch = ComparedCandidates([line(new)], [[known(old, 1.0)]], unit(0.0))
        assert judge(batch, compare=here)[0].outcome == outcome
        for how in ("deleted", "ended"):
            gone = ComparedCandidates([line(new)], [[known(old, 1.0, **{how: True})]], unit(0.0))
            assert judge(gone, compare=Scales(0.15, 0.5))[0].outcome == Outcome.REJECTED
    lines = [line(old, source=1), line(new, source=2)]
    _, second = judge(ComparedCandidates(lines, [[], []], unit(0.0, 0.0)), compare=Scales(0.15, 0.5))
    assert second.outcome == (Outcome.PASSED if outcome == Outcome.PASSED else Outcome.REJECTED)


@pytest.mark.parametrize(
    ("old", "new", "similarity", "fields"),
    [
        ("Mira: “I keep the bridge.”", NEW, 0.8, {}),
        (OLD, "Mira: “I herd goats in the hills.”", 0.8, {}),
        (OLD, NEW, COSINE.same_topic - 0.01, {}),
        (OLD, NEW, 0.5, {"kind": "event"}),
    ],
    ids=["a quotation in other words", "by a quotation in other words", "of another topic", "of another kind"],
)
def test_what_is_never_touched(old: str, new: str, similarity: float, fields: dict[str, object]) -> None:
    for scales in (Scales(1.0, 0.0), Scales(0.0, 1.0)):
        assert compared(scales, old, new, similarity, **fields).outcome == Outcome.PASSED
        assert scales.calls == []


def test_quotations_are_compared_where_one_speaker_uses_like_words() -> None:
    texts = "Mira: “I live in Paris.”", "Mira: “I live in Lyon.”"
    assert compared(Scales(1.0, 0.0), *texts, 0.8).outcome == Outcome.REPLACES
    other = "Mira: “We danced all night.”"
    assert compared(Scales(1.0, 0.0), texts[0], other, 0.8).outcome == Outcome.PASSED
    assert compared(Scales(1.0, 0.0), texts[0], "Tom: “I live in Lyon.”", 0.8).outcome == Outcome.PASSED


@given(st.sampled_from(["fact", "event", "scene"]), st.floats(0, 1), st.floats(0, 1))
def test_a_statement_of_another_kind_is_never_replaced(kind: str, similarity: float, superseded: float) -> None:
    verdict = compared(Scales(superseded, 0.0), kind=kind, similarity=similarity)
    if kind != "fact" or similarity < COSINE.same_topic:
        assert verdict.outcome != Outcome.REPLACES


def test_a_batch_is_compared_in_one_call() -> None:
    scales = Scales(0.0, 0.0)
    lines = [line(OLD, source=1), line(NEW, source=2), line("Mira has a dog.", source=3)]
    judge(
        ComparedCandidates(
            lines, [[known("Mira owns a cat.", 0.6), known("Mira rows.", 0.5)]] * 3, unit(0.0, 0.1, 0.2)
        ),
        compare=scales,
    )
    assert [len(pairs) for pairs in scales.calls] == [9]


def test_a_line_of_the_same_batch_may_be_what_is_replaced_or_repeated() -> None:
    lines = [line(OLD, source=1), line(NEW, source=2)]
    first, second = judge(ComparedCandidates(lines, [[], []], unit(0.0, 1.0)), compare=Scales(0.9, 0.0))
    assert (first.outcome, second.outcome, second.earlier) == (Outcome.PASSED, Outcome.REPLACES, 0)
    _, repeated = judge(ComparedCandidates(lines, [[], []], unit(0.0, 1.0)), compare=Scales(0.0, 0.9))
    assert repeated.outcome == Outcome.REJECTED


def test_a_model_is_asked_in_the_order_of_time() -> None:
    later, candidate = known("Mira lives in Lyon.", 0.7, valid_from_index=9), line("Mira lives in Paris.", source=4)
    assert ComparedCandidates([candidate], [[later]], unit(0.0)).uncertain_pairs == [(candidate.text, later.text)]
    verdict = answered(Relation.UPDATE, candidate, later)
    assert (verdict.outcome, verdict.replaced_by) == (Outcome.PASSED, later.id)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mira used to live in Paris.", "Mira lives in Paris."),
        ("Tom almost sold the ferry.", "Tom sold the ferry."),
        ("Mira thinks that Tom is the murderer.", "Tom is the murderer."),
        ("Anna is Tom's former wife.", "Anna is Tom's wife."),
    ],
)
@pytest.mark.parametrize("compare", [None, here], ids=["by likeness", "compared"])
def test_what_is_so_does_not_repeat_what_was_nearly_or_no_longer_so(
    old: str, new: str, compare: Compare | None
) -> None:
    for first, second in ((old, new), (new, old)):
        verdict = judge(ComparedCandidates([line(second)], [[known(first, 0.97)]], unit(0.0)), compare=compare)[0]
        assert verdict.outcome in (Outcome.PASSED, Outcome.REPLACES)


def test_digits_of_any_script_are_read() -> None:
    pair = "Mira paid ① 100 gold coins and ² thousand pearls.", "Mira paid ① 300 gold coins and ² thousand pearls."
    assert judge(ComparedCandidates([line(pair[1])], [[known(pair[0], 0.97)]], unit(0.0)), compare=here)


def test_what_was_said_before_what_replaced_it_is_remembered_as_replaced() -> None:
    later, scales = known("Mira moved to Lyon.", 0.6, valid_from_index=9), Scales(1.0, 0.0)
    before = judge(ComparedCandidates([line("Mira lives in Paris.", source=4)], [[later]], unit(0.0)), compare=scales)[
        0
    ]
    assert (before.outcome, before.replaced_by) == (Outcome.PASSED, later.id)
    assert scales.calls == [[("Mira lives in Paris.", "Mira moved to Lyon.", "fact")]]  # in the order of time
    after = judge(ComparedCandidates([line("Mira lives in Paris.", source=12)], [[later]], unit(0.0)), compare=scales)[
        0
    ]
    assert (after.outcome, after.target) == (Outcome.REPLACES, later.id)


def test_somebody_may_move_back() -> None:
    lines = [
        line("Mira lives in Paris."),
        line("Mira moved to Lyon.", source=1),
        line("Mira moved back to Paris.", source=2),
    ]
    verdicts = judge(ComparedCandidates(lines, [[], [], []], unit(0.0, 0.8, 0.1)), compare=here)
    assert [verdict.earlier for verdict in verdicts] == [None, 0, 1]


def test_one_memory_is_replaced_once() -> None:
    old = known("Mira lives in Paris.", 0.7)
    lines = [line("Mira moved to Lyon."), line("Mira moved to Turin.", source=1)]
    verdicts = judge(ComparedCandidates(lines, [[old], [old]], unit(0.0, 0.8)), compare=Scales(0.9, 0.0))
    assert [verdict.target for verdict in verdicts] == [old.id, None]
    assert verdicts[1].earlier == 0


def test_without_this_machine_s_model_all_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(outcomes, "get_embedder", broken)
    context: Any = SimpleNamespace(backend=SimpleNamespace(name="builtin"))
    verdict = judge(ComparedCandidates([line(NEW)], [[known(OLD, 0.5)]], unit(0.0)), compare=comparison_for(context))[0]
    assert verdict.outcome == Outcome.PASSED
    connected: Any = SimpleNamespace(backend=SimpleNamespace(name="openai"))
    assert comparison_for(connected) is None


def test_without_vectors_a_model_is_asked_about_statements_with_the_same_words() -> None:
    told = ["Mira lives in Paris.", "Mira lives in a house in Lyon.", "Tom hates cabbage."]
    first, second, _ = told
    assert ComparedCandidates([line(text) for text in told], [[], [], []]).uncertain_pairs == [(first, second)]


def test_words_serve_where_there_are_no_vectors() -> None:
    assert jaccard("Mira trusts Tom.", "mira trusts tom") == 1.0
    old = known("Mira trusts the old captain", 1.0)
    assert judge(ComparedCandidates([line("Mira trusts the old captain!")], [[old]]))[0].outcome == Outcome.RECONFIRMED
