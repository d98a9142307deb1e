"""Verdicts: what is new, what replaces, what repeats. With vectors and, without them, by words."""

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.extraction.parsers.memories import Candidate
from apps.memories.verdicts import COSINE_B, Neighbour, Outcome, Verdict, judge
from apps.memories.wording import jaccard


def line(text: str, kind: str = "fact", source: int = 0) -> Candidate:
    return Candidate(kind, text, sources=(source,))


def known(text: str, similarity: float, kind: str = "fact", **fields: object) -> Neighbour:
    return Neighbour(uuid4(), kind, text, similarity, **fields)  # type: ignore[arg-type]


def unit(*angles: float) -> np.ndarray:
    """Rows of length 1 in the plane, so that the cosine of two is that of the angle between them."""
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles])


def verdict_on(candidate: Candidate, *neighbours: Neighbour) -> Verdict:
    return judge([candidate], [neighbours], unit(0.0))[0]


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mira likes tea.", "Mira does not like tea."),
        ("Mira has two sisters.", "Mira has three sisters."),
        ("Mira's brother is called Tom.", "Mira's brother is called Ben."),
    ],
)
def test_a_near_duplicate_that_contradicts_is_a_change(old: str, new: str) -> None:
    neighbour = known(old, 0.97)
    verdict = verdict_on(line(new), neighbour)
    assert (verdict.outcome, verdict.target) == (Outcome.SUPERSEDED, neighbour.id)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Yara visited the shrine in spring.", "Yara visited the shrine in autumn."),
        ("The key lies under the mat.", "The lamp lies under the mat."),
        ("Bram owes Ada ten crowns.", "Ada owes Bram ten crowns."),
        ("Tom turned the lamp on.", "Tom turned the lamp off."),
        ("Nadia has a daughter.", "Nadia has a daughter and a parrot in Lisbon."),
    ],
)
def test_what_is_worded_alike_and_says_something_else_is_kept(old: str, new: str) -> None:
    assert verdict_on(line(new), known(old, 0.97)).outcome in (Outcome.PASSED, Outcome.SUPERSEDED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The vineyard belongs to the Conti family.", "The Conti family owns the vineyard."),
        ("Garrick is Lena's older brother.", "Lena is Garrick's younger sister."),
        ("{{user}} saved {{char}} from the wolves.", "{{char}} was rescued from the wolves by {{user}}."),
        ("The user is thirty-four years old.", "The user is 34."),
    ],
)
def test_the_same_in_other_words_repeats_even_where_it_is_less_alike(old: str, new: str) -> None:
    assert verdict_on(line(new), known(old, 0.6)).outcome == Outcome.RECONFIRMED
    assert verdict_on(line(new), known(old, 0.5)).outcome == Outcome.PASSED


def test_the_thresholds_of_profile_b_ask_for_more() -> None:
    old = known("Mira is fond of long walks by the sea.", 0.84)
    candidate = line("Mira enjoys walking along the shore.")
    assert judge([candidate], [[old]], unit(0.0))[0].outcome == Outcome.RECONFIRMED
    assert judge([candidate], [[old]], unit(0.0), COSINE_B)[0].outcome == Outcome.PASSED


class Model:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, old: str, new: str) -> bool:
        self.asked.append((old, new))
        return self.answer


@pytest.mark.parametrize(("answer", "outcome"), [(True, Outcome.SUPERSEDED), (False, Outcome.PASSED)])
def test_a_model_decides_where_no_rule_does(answer: bool, outcome: Outcome) -> None:
    model = Model(answer)
    old, farther = known("Mira sits by the window.", 0.7), known("Mira reads a letter.", 0.6)
    verdict = judge([line("Mira paces the hall.")], [[old, farther]], unit(0.0), confirm=model)[0]
    assert (verdict.outcome, model.asked) == (outcome, [("Mira sits by the window.", "Mira paces the hall.")])


@pytest.mark.parametrize(
    "neighbour",
    [
        known("Mira sits by the window.", 0.5),
        known("Mira sits by the window.", 0.7, "event"),
        known("Mira sits by the window.", 0.7, forgotten=True),
        known("Mira moved to Lyon.", 0.7),
        known("Mira lives in the city of Paris.", 0.9),
        known("Mira sits by the window.", 0.7, since=9),
    ],
)
def test_a_model_is_not_asked_of_what_is_settled(neighbour: Neighbour) -> None:
    model = Model(True)
    judge([line("Mira lives in Paris.")], [[neighbour]], unit(0.0), confirm=model)
    assert model.asked == []


def test_a_near_duplicate_that_a_model_calls_independent_repeats() -> None:
    old = known("Mira is fond of long walks by the sea.", 0.9)
    verdict = judge([line("Mira enjoys walking along the shore.")], [[old]], unit(0.0), confirm=Model(False))[0]
    assert verdict.outcome == Outcome.RECONFIRMED


def test_what_a_person_deleted_is_neither_confirmed_nor_replaced() -> None:
    gone = known("Mira likes tea.", 0.95, forgotten=True)
    assert verdict_on(line("Mira likes tea very much."), gone).outcome == Outcome.REJECTED
    assert verdict_on(line("Mira does not like tea."), gone).outcome == Outcome.PASSED


def test_the_same_line_is_known_whatever_a_person_made_of_it() -> None:
    edited = known("Something else.", 0.1, same_line=True)
    assert verdict_on(line("Mira lives in Paris."), edited).outcome == Outcome.RECONFIRMED


def test_what_was_said_before_does_not_replace_what_was_said_later() -> None:
    later = known("Mira moved to Lyon.", 0.6, since=9)
    assert verdict_on(line("Mira lives in Paris.", source=4), later).outcome == Outcome.REJECTED
    assert verdict_on(line("Mira lives in Paris.", source=12), later).outcome == Outcome.SUPERSEDED


def test_lines_of_one_reply_are_compared_with_each_other() -> None:
    lines = [line("Mira lives in Paris."), line("Mira lives in Paris!"), line("Mira moved to Lyon.", source=1)]
    verdicts = judge(lines, [[], [], []], unit(0.0, 0.1, 0.8))
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED, Outcome.REJECTED, Outcome.SUPERSEDED]
    assert verdicts[2].earlier == 0


def test_somebody_may_move_back() -> None:
    lines = [
        line("Mira lives in Paris."),
        line("Mira moved to Lyon.", source=1),
        line("Mira lives in Paris.", source=2),
    ]
    verdicts = judge(lines, [[], [], []], unit(0.0, 0.8, 0.0))
    assert [verdict.earlier for verdict in verdicts] == [None, 0, 1]


def test_one_memory_is_replaced_once() -> None:
    old = known("Mira lives in Paris.", 0.7)
    lines = [line("Mira moved to Lyon."), line("Mira moved to Turin.", source=1)]
    verdicts = judge(lines, [[old], [old]], unit(0.0, 0.8))
    assert [verdict.target for verdict in verdicts] == [old.id, None]
    assert verdicts[1].earlier == 0


def test_words_serve_where_there_are_no_vectors() -> None:
    assert jaccard("Mira trusts Tom.", "mira trusts tom") == 1.0
    old = known("Mira trusts the old captain", 1.0)
    assert judge([line("Mira trusts the old captain!")], [[old]])[0].outcome == Outcome.RECONFIRMED


PHRASES = st.sampled_from(
    [
        "Mira lives in Paris.",
        "Mira moved to Lyon.",
        "Mira lives in a red house in Paris.",
        "Tom works as a baker.",
        "Tom quit the bakery and became a sailor.",
        "Mira likes tea.",
        "Mira does not like tea.",
        "Mira broke her left arm.",
        "Mira's left arm has healed.",
        "Mira has two sisters.",
        "Mira has three sisters.",
        "Corin drowned six years ago.",
        "Corin is alive.",
        "Tom owns the blue boat.",
        "The blue boat belongs to Tom.",
        "Tom sold the blue boat.",
        "The gate is locked.",
        "The gate stands open.",
        "Mira is engaged to Tom.",
        "Tom and Mira tied the knot.",
        "Tom and Mira are divorced.",
    ]
)
OURS = [
    json.loads(row)[key]
    for row in (Path(__file__).parents[1] / "data" / "supersession.jsonl").read_text(encoding="utf-8").splitlines()
    for key in ("existing", "candidate")
]
Store = dict[UUID, tuple[Candidate, bool]]  # what is remembered, and whether it is active


def near(store: Store, candidate: Candidate) -> list[Neighbour]:
    found = [
        Neighbour(
            key,
            item.kind,
            item.text,
            jaccard(candidate.text, item.text),
            not active,
            item.sources[0],
            item == candidate,
        )
        for key, (item, active) in store.items()
        if active or item == candidate
    ]
    return sorted(found, key=lambda neighbour: (not neighbour.same_line, -neighbour.similarity))


def applied(store: Store, candidates: Sequence[Candidate]) -> tuple[Store, list[Verdict]]:
    """The store after a pass, as ``operations.write_stage`` leaves it."""
    verdicts = judge(candidates, [near(store, candidate) for candidate in candidates])
    result, made = dict(store), {}
    for number, verdict in enumerate(verdicts):
        if verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED):
            made[number] = uuid4()
            result[made[number]] = (verdict.candidate, True)
            target = verdict.target if verdict.earlier is None else made[verdict.earlier]
            if target:
                result[target] = (result[target][0], False)
    return result, verdicts


@given(st.lists(PHRASES, max_size=10))
def test_the_same_text_read_again_changes_nothing(said: list[str]) -> None:
    candidates = [line(text, source=number) for number, text in enumerate(said)]
    store, _ = applied({}, candidates)
    again, verdicts = applied(store, candidates)
    assert again == store
    assert {verdict.outcome for verdict in verdicts} <= {Outcome.RECONFIRMED, Outcome.REJECTED}


@given(st.lists(st.sampled_from(OURS), max_size=8))
def test_any_statements_read_again_change_nothing(said: list[str]) -> None:
    candidates = [line(text, source=number) for number, text in enumerate(said)]
    store, _ = applied({}, candidates)
    again, verdicts = applied(store, candidates)
    assert again == store
    assert {verdict.outcome for verdict in verdicts} <= {Outcome.RECONFIRMED, Outcome.REJECTED}


@given(st.lists(PHRASES, max_size=10))
def test_of_each_frame_the_last_value_stands(said: list[str]) -> None:
    store, verdicts = applied({}, [line(text, source=number) for number, text in enumerate(said)])
    assert len(store) == sum(verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED) for verdict in verdicts)
    active = {item.text for item, is_active in store.values() if is_active}
    assert not {"Corin drowned six years ago.", "Corin is alive."} <= active
