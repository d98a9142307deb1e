"""Test the classification of turns and the budgets of each class."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.prompts.filling.budgets import adapted_budgets, classify
from tests.durations import takes_at_most


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did your brother say about the key?", "dialogue"),
        ("", "dialogue"),
        ("She left the room.", "dialogue"),
        ("Sorry, I am running late.", "dialogue"),
        ("“I will kill you with this sword,” he says.", "dialogue"),
        ("I draw my sword and slash at the wolf.", "action"),
        ("She whispers a warning as arrows fly and blood spills.", "action"),
        ("The next morning we set out for the coast.", "transition"),
        ("Hours later, we arrive at the inn.", "transition"),
        ("He leans closer and kisses her softly.", "intimate"),
        ("I hold her and stroke her hair. *whispers* stay", "intimate"),
    ],
)
def test_classify(text, expected):
    assert classify(text) == expected


@pytest.mark.parametrize(
    "talk", ['"fight"', "“fight”", "„fight“", "„fight”", "«fight»", "「fight」", "“„fight”", '"" „“ "fight"']
)
def test_what_is_only_talked_about_does_not_count(talk):
    assert classify(f"{talk} she says.") == "dialogue"


@pytest.mark.parametrize("text", ["“We fight on", "fight”", "“a” fight “b”", "„Oh“ fight"])
def test_a_mark_that_nothing_closes_begins_no_speech(text):
    assert classify(text) == "action"


@pytest.mark.parametrize("mark", ["“", "„", "«", "「"])
def test_thousands_of_marks_that_nothing_closes_take_no_time(mark):
    with takes_at_most(5):
        classify(f"{mark}a " * 100_000)


def test_multipliers_of_a_dialogue_are_scaled_to_the_base_sum():
    budgets = {"long_term": 500, "session": 400, "triggered": 250}
    assert adapted_budgets("dialogue", budgets) == {"long_term": 586, "session": 313, "triggered": 250}
    assert adapted_budgets("transition", budgets) == {"long_term": 500, "session": 360, "triggered": 250}


@pytest.mark.parametrize(
    ("turn_class", "expected"),
    [
        ("dialogue", [597, 319, 209, 697, 478]),
        ("action", [400, 520, 360, 700, 320]),
        ("transition", [466, 335, 279, 847, 372]),
        ("intimate", [448, 478, 299, 558, 518]),
    ],
)
def test_the_budgets_of_the_reference(turn_class, expected):
    """As run with Smart Memory 1.7.9, whose rounding lets the sum grow in one case: ours is rounded down."""
    names = ["long_term", "session", "scenes", "arcs", "profiles"]
    budgets = dict(zip(names, [500, 400, 300, 700, 400], strict=True))
    adapted = adapted_budgets(turn_class, budgets)
    assert all(value - 1 <= adapted[name] <= value for name, value in zip(names, expected, strict=True))


@pytest.mark.parametrize(
    ("turn_class", "multipliers"),
    [
        ("dialogue", (1.2, 0.8, 0.7, 1.0, 1.2)),
        ("action", (0.8, 1.3, 1.2, 1.0, 0.8)),
        ("transition", (1.0, 0.9, 1.0, 1.3, 1.0)),
        ("intimate", (0.9, 1.2, 1.0, 0.8, 1.3)),
    ],
)
def test_the_multipliers_of_the_reference_are_scaled_down_only_where_the_sum_would_grow(turn_class, multipliers):
    """The multipliers of Smart Memory 1.7.9 for lasting memories, the chat's memories, scenes, arcs and profiles."""
    names = ["long_term", "session", "scenes", "arcs", "profiles"]
    for budgets in ([500, 400, 300, 700, 400], [1000] * 5, [0, 0, 0, 1000, 0], [0, 1000, 0, 0, 0]):
        wanted = [budget * factor for budget, factor in zip(budgets, multipliers, strict=True)]
        scale = min(sum(budgets) / sum(wanted), 1)
        adapted = adapted_budgets(turn_class, dict(zip(names, budgets, strict=True)))
        for name, value in zip(names, wanted, strict=True):
            assert value * scale - 1 <= adapted[name] <= value * scale + 1e-6


@given(
    st.sampled_from(["dialogue", "action", "transition", "intimate"]),
    st.dictionaries(
        st.sampled_from(["long_term", "session", "scenes", "arcs", "profiles", "triggered"]), st.integers(0, 5000)
    ),
)
def test_the_sum_never_grows(turn_class, budgets):
    adapted = adapted_budgets(turn_class, budgets)
    assert adapted.keys() == budgets.keys()
    assert sum(adapted.values()) <= sum(budgets.values())
    assert all(value >= 0 for value in adapted.values())
