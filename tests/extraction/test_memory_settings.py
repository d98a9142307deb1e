"""Memory settings: defaults by profile, overrides and validation."""

from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.common.problems import Invalid
from apps.extraction.reading.registry import TIERS
from apps.extraction.settings.schema import DEFAULTS, SETTINGS, Settings, defaults, resolve, validate
from apps.extraction.settings.stores import change_settings, settings_of, settings_of_owner
from tests.factories import UserFactory, make_character, make_chat


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def test_settings_whose_defaults_differ_by_profile() -> None:
    small, hosted = defaults("A"), defaults("B")
    differing = {name for name in SETTINGS if getattr(small, name) != getattr(hosted, name)}
    assert differing == {
        "new_per_kind", "chunk", "scene_check", "canon", "continuity", "model_triggers", "duplicate",
        "cross_kind_duplicate", "same_topic",
        "word_duplicate", "word_cross_kind_duplicate", "word_same_topic",
    }  # fmt: skip
    assert (small.new_per_kind, hosted.new_per_kind) == (2, 4)
    assert (small.duplicate, hosted.duplicate) == (0.82, 0.85)
    assert (small.same_topic, hosted.same_topic) == (0.40, 0.52)


def test_defaults_are_valid_and_every_tier_has_a_setting() -> None:
    validate(asdict(DEFAULTS))
    validate(asdict(defaults("B")))
    assert set(TIERS) <= {one.name for one in fields(Settings)}


def test_the_most_specific_document_wins() -> None:
    found = resolve("A", [{"extract_every": 5, "chunk": 10}, {"extract_every": 7}, {}])
    assert (found.extract_every, found.chunk, found.profile) == (7, 10, "A")


def test_a_chosen_profile_sets_the_defaults() -> None:
    assert resolve("A", [{"profile": "B"}]) == defaults("B").__class__(**asdict(defaults("B")) | {"profile": "B"})
    assert resolve("B", [{"profile": "B"}, {"profile": "auto", "new_per_kind": 9}]).new_per_kind == 9


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"extract_every": 0}, "/extract_every"),
        ({"extract_every": 2.5}, "/extract_every"),
        ({"extract_every": True}, "/extract_every"),
        ({"duplicate": "high"}, "/duplicate"),
        ({"duplicate": float("nan")}, "/duplicate"),
        ({"summary": 1}, "/summary"),
        ({"profile": "C"}, "/profile"),
        ({"no such thing": 1}, "/no such thing"),
    ],
)
def test_invalid_values_are_reported_with_a_pointer(document: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Invalid) as raised:
        validate(document)
    assert [error.pointer for error in raised.value.errors] == [pointer]


@given(
    st.dictionaries(
        st.sampled_from(sorted(SETTINGS)),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none()),
        max_size=4,
    )
)
def test_every_document_is_refused_or_resolved(document: dict[str, Any]) -> None:
    named: set[str] = set()
    try:
        validate(document)
    except Invalid as error:
        named = {one.pointer.removeprefix("/") for one in error.errors}
    assert named <= document.keys()
    if not named:
        given = {name: value for name, value in document.items() if name != "profile"}
        assert asdict(resolve("A", [document])).items() >= given.items()


def test_a_chat_overrides_its_character_which_overrides_the_user(owner: User) -> None:
    character = make_character(owner)
    chat, other = make_chat(owner, character=character), make_chat(owner)
    change_settings(owner, {"extract_every": 5, "session_cap": 10, "arcs_cap": 5})
    change_settings(owner, {"extract_every": 6, "session_cap": 11}, character=character)
    change_settings(owner, {"extract_every": 7}, chat=chat)
    change_settings(UserFactory(), {"extract_every": 99})
    mine = settings_of(chat)
    assert (mine.extract_every, mine.session_cap, mine.arcs_cap) == (7, 11, 5)
    theirs = settings_of(other)
    assert (theirs.extract_every, theirs.session_cap) == (5, 10)


def test_null_resets_a_setting(owner: User) -> None:
    change_settings(owner, {"extract_every": 5, "session_cap": 10})
    assert change_settings(owner, {"extract_every": None}) == {"session_cap": 10}
    assert settings_of(make_chat(owner)).extract_every == DEFAULTS.extract_every


def test_a_refused_change_changes_nothing(owner: User) -> None:
    change_settings(owner, {"extract_every": 5})
    with pytest.raises(Invalid):
        change_settings(owner, {"extract_every": 6, "session_cap": -1})
    with pytest.raises(Invalid):
        change_settings(owner, {"nothing": None})
    assert settings_of(make_chat(owner)).extract_every == 5


def test_settings_of_a_chat_do_not_apply_to_others(owner: User) -> None:
    character = make_character(owner)
    special, alone, other = make_chat(owner), make_chat(owner), make_chat(owner, character=character)
    change_settings(owner, {"extract_every": 7}, chat=special)
    change_settings(owner, {"arcs_cap": 5}, character=character)
    assert settings_of(special).extract_every == 7
    assert settings_of(alone) == Settings(profile="A")
    assert (settings_of(other).extract_every, settings_of(other).arcs_cap) == (3, 5)
    assert settings_of_owner(owner).arcs_cap == 10
    assert settings_of_owner(owner, character).arcs_cap == 5
