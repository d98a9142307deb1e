"""Verdicts: what is new, what replaces, what repeats. With vectors and, without them, by words."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.dedup import Neighbour, Outcome, Verdict, judge
from apps.memories.lines.memories import Candidate
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
    ]
)
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


@given(st.lists(PHRASES, max_size=10))
def test_of_each_frame_the_last_value_stands(said: list[str]) -> None:
    store, verdicts = applied({}, [line(text, source=number) for number, text in enumerate(said)])
    assert len(store) == sum(verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED) for verdict in verdicts)
    active = {item.text for item, is_active in store.values() if is_active}
    assert not {"Corin drowned six years ago.", "Corin is alive."} <= active
