"""Settings of the prompt: layers, validation, conflicts, and their API."""

import uuid

import pytest

from apps.chats.operations import merge_characters
from apps.common.problems import Invalid
from apps.prompts.settings.schema import SETTINGS, resolve, validate
from apps.prompts.settings.stores import INJECTION_SETTINGS, prompt_settings_of
from apps.prompts.slots.definitions import ALL_SLOTS
from tests.factories import make_character
from tests.lanes import sampled


def paths(chat):
    return [
        "/api/v1/injection-settings/",
        f"/api/v1/characters/{chat.character_id}/injection-settings/",
        f"/api/v1/chats/{chat.pk}/injection-settings/",
    ]


def test_each_layer_overrides_the_one_before_and_null_resets_to_it(api, chat):
    user, character, of_chat = paths(chat)
    for path, budget in ((user, 111), (character, 222), (of_chat, 333)):
        reply = api.patch(path, {"long_term_budget": budget})
        assert reply.status_code == 200, reply.content
        assert reply.json()["own"] == {"long_term_budget": budget}
    for path, budget in ((of_chat, 333), (character, 222), (user, 111)):
        assert api.get(of_chat).json()["effective"]["long_term_budget"] == budget
        assert api.patch(path, {"long_term_budget": None}).json()["own"] == {}
    assert api.get(of_chat).json()["effective"]["long_term_budget"] == 500


def test_a_patch_keeps_other_settings_and_a_stale_one_is_refused(api, chat):
    path = paths(chat)[2]
    first = api.patch(path, {"mode": "simple", "total_budget": 1000}).json()
    second = api.patch(path, {"adaptive": False, "integrity": first["integrity"]}).json()
    assert second["own"] == {"mode": "simple", "total_budget": 1000, "adaptive": False}
    stale = api.patch(path, {"mode": "advanced", "integrity": first["integrity"]})
    assert stale.status_code == 409
    assert stale.json()["current_integrity"] == second["integrity"]


@pytest.mark.parametrize(
    ("name", "value"),
    sampled([
        ("mode", "clever"), ("mode", 1), ("total_budget", -1), ("total_budget", 10**9), ("total_budget", 1.5),
        ("long_term_budget", -1), ("long_term_budget", True), ("long_term_budget", "500"),
        ("canon_depth", -1), ("canon_role", "tool"),
        ("canon_position", "nowhere"), ("refresh_period", 0), ("adaptive", 1), ("canon_template", ""),
        ("canon_template", "no placeholder"), ("canon_template", "{{entries}} {{entries}}"),
        ("canon_template", "{{entries}} {{other}}"), ("canon_template", "{{entries"), ("canon_template", 7),
        ("canon_template", "{{entries}} {{ {{"), ("canon_template", "\x00{{entries}}"),
        ("canon_template", "x" * 5000 + "{{entries}}"), ("canon_budgets", 5), ("canon_budgets", None),
    ], 10),
)  # fmt: skip
def test_bad_values_are_refused_by_name(api, chat, name, value):
    for path in paths(chat):
        reply = api.patch(path, {name: value})
        assert reply.status_code == 400, reply.content
        assert [error["pointer"] for error in reply.json()["errors"]] == [f"/{name}"]
        assert api.get(path).json()["own"] == {}


@pytest.mark.parametrize("slot", [slot.name for slot in ALL_SLOTS])
def test_a_negative_budget_of_any_slot_is_refused_by_name(slot):
    validate({f"{slot}_budget": 0})
    for budget in (-1, -(10**9)):
        with pytest.raises(Invalid) as refused:
            validate({f"{slot}_budget": budget})
        assert f"/{slot}_budget" in str(refused.value.errors)


@pytest.mark.parametrize("budget", [0, 1, 1_000_000])
def test_odd_budgets_are_held(api, chat, memories, budget):
    api.patch(paths(chat)[2], {"long_term_budget": budget, "session_budget": budget, "adaptive": False})
    slots = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"context_tokens": 4_000_000}).json()["slots"]
    by_name = {slot["name"]: slot for slot in slots}
    assert all(slot["tokens"] <= slot["budget"] for slot in slots)
    assert bool(by_name["long_term"]["text"]) is (budget > 1)


def test_strangers_and_unknown_chats_get_404(api, stranger, chat):
    for path in paths(chat)[1:]:
        assert stranger.get(path).status_code == stranger.patch(path, {"mode": "simple"}).status_code == 404
    assert api.get(f"/api/v1/chats/{uuid.uuid4()}/injection-settings/").status_code == 404


def test_the_defaults_are_valid_and_complete():
    settings = resolve([])
    values = settings.values()
    assert values == {name: setting.default for name, setting in SETTINGS.items()}
    validate(values)
    with pytest.raises(Invalid):
        validate({"mode": None})


def test_what_a_newer_version_stored_is_ignored():
    assert resolve([{"schema_version": 9, "unknown": 5}]) == resolve([])


def test_a_merged_character_brings_its_settings(alice, chat):
    other = make_character(alice, "Mirabel")
    INJECTION_SETTINGS.change(alice, {"canon_budget": 7}, character=other)
    merge_characters(other, chat.character)
    assert prompt_settings_of(chat).slots["canon"].budget == 7
