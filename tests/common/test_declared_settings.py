"""What follows from the declaration of a setting: validation, inheritance, form, API, and its description."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import translation
from rest_framework.test import APIRequestFactory, force_authenticate

from apps.accounts.models import User
from apps.common.problems import Invalid
from apps.common.settings.declarations import Group, Schema, declared, setting
from apps.common.settings.inheritance import SettingsSource, setting_values
from apps.common.settings.openapi import changes_schema, values_schema
from apps.common.settings.setting_forms import SettingsForm
from apps.extraction.api.setting_views import SettingsView, described
from apps.extraction.models import MemorySettings
from apps.extraction.settings.stores import SettingsStore
from config.settings_page import table
from tests.contract.openapi import document
from tests.factories import UserFactory

TEA, TABLE = Group("Tea", "How it is made."), Group("The table")


def _without_milk(text: str) -> str | None:
    return "No milk." if "milk" in text else None


@dataclass(frozen=True)
class Party:
    cups: int = setting(3, TEA, "Cups", "For all guests.", low=1, high=12, large=6)
    warmth: float = setting(0.5, TEA, "Warmth", low=0, high=1)
    sugar: bool = setting(True, TABLE, "Sugar", "In lumps.")
    guest: str = setting("hare", TABLE, "Guest", choices={"hare": "A hare", "mouse": "A mouse"})
    wish: str = setting("Quiet", TABLE, "Wish", check=_without_milk)
    remark: str = "not a setting"


PARTY = Schema(declared(Party))


class PartyForm(SettingsForm):
    settings = PARTY


@described("Party", PARTY)
class PartyView(SettingsView):
    store = SettingsStore(MemorySettings, PARTY)

    def effective(self, character: Any = None, chat: Any = None) -> dict[str, Any]:
        return PARTY.defaults() | PARTY.merged(self.store.documents(self.request.user, character, chat))


def errors(document: dict[str, Any]) -> dict[str, str]:
    try:
        PARTY.validate(document)
    except Invalid as problem:
        return {error.pointer: error.detail for error in problem.errors}
    return {}


def test_the_fields_of_a_class_are_settings_in_their_order() -> None:
    assert list(PARTY) == ["cups", "warmth", "sugar", "guest", "wish"]
    assert PARTY.groups == {TEA: ["cups", "warmth"], TABLE: ["sugar", "guest", "wish"]}
    assert (PARTY["cups"].kind, PARTY["warmth"].kind) == (int, float)
    assert PARTY.defaults() == {"cups": 3, "warmth": 0.5, "sugar": True, "guest": "hare", "wish": "Quiet"}
    assert PARTY.defaults("B") == PARTY.defaults() | {"cups": 6}


def test_each_value_is_checked_by_its_declaration() -> None:
    assert not errors({"cups": 12, "warmth": 1, "sugar": False, "guest": "mouse", "wish": "Jam"})
    assert errors({"cups": 13, "warmth": "hot", "sugar": 1, "guest": ["hare"], "wish": "milk", "spoons": 1}) == {
        "/cups": "It must be between 1 and 12.",
        "/warmth": "It must be a number.",
        "/sugar": "It must be true or false.",
        "/guest": "It must be one of hare, mouse.",
        "/wish": "No milk.",
        "/spoons": "There is no such setting.",
    }
    assert errors({"cups": 1.5, "wish": 1}) == {"/cups": "It must be a whole number.", "/wish": "It must be a text."}


def test_the_last_document_counts_and_what_another_version_stored_does_not() -> None:
    assert PARTY.merged([{"cups": 1, "sugar": False}, {"cups": 2, "schema_version": 1}]) == {"cups": 2, "sugar": False}


def test_a_value_has_its_origin() -> None:
    values = setting_values(
        PARTY, [SettingsSource("yours", {"cups": 4, "sugar": False}), SettingsSource("the chat's", {"cups": 5})]
    )
    assert (values["cups"].value, values["cups"].origin, values["cups"].inherited) == (5, "the chat's", 4)
    assert (values["sugar"].value, values["sugar"].origin, values["sugar"].is_own) == (False, "yours", False)
    assert (values["guest"].value, values["guest"].origin) == ("hare", "default")
    large = setting_values(PARTY, [SettingsSource("yours", {})], "B")["cups"]
    assert (large.value, large.origin) == (6, "default for large models")


def test_the_form_has_a_field_for_each_setting() -> None:
    values = setting_values(PARTY, [SettingsSource("yours", {"cups": 4})])
    form = PartyForm(values)
    assert [(group.group, len(group.rows), group.own) for group in form.groups()] == [(TEA, 2, 1), (TABLE, 3, 0)]
    cups = str(form["cups"])
    assert all(part in cups for part in ('min="1"', 'max="12"', 'placeholder="3"', 'value="4"'))
    assert (form["cups"].label, form["cups"].help_text) == ("Cups", "For all guests.")
    assert "A hare (inherited)" in str(form["guest"])
    sent = PartyForm(values, {"cups": "", "sugar": "off", "wish": "Jam\r\nBread", "initial-cups": "4"})
    assert sent.is_valid()
    assert sent.changes() == {"cups": None, "sugar": False, "wish": "Jam\nBread"}


def test_the_api_takes_and_returns_each_setting(db: None) -> None:
    user: User = UserFactory()

    def call(method: str, body: Any = None) -> Any:
        request = getattr(APIRequestFactory(), method)("/", body, format="json")
        force_authenticate(request, user)
        return PartyView.as_view()(request)

    assert call("get").data["effective"] == PARTY.defaults()
    assert call("patch", {"cups": 5}).data["effective"] == PARTY.defaults() | {"cups": 5}
    refused = call("patch", {"cups": 50})
    assert (refused.status_code, refused.data["errors"][0]["pointer"]) == (400, "/cups")
    assert call("patch", {"cups": None}).data["own"] == {}


def test_the_page_of_settings_has_each_setting() -> None:
    written = table(PARTY.values())
    assert "| `cups` | 3; 6 for large models | 1 to 12 | **Cups**. For all guests. |" in written
    assert '| `guest` | `"hare"` | `hare`: A hare; `mouse`: A mouse | **Guest**. |' in written


def test_the_openapi_document_has_each_setting_in_english() -> None:
    with translation.override("de"):
        changes = changes_schema(PARTY)
    assert changes["properties"]["cups"] == {
        "type": "integer",
        "description": "Cups: For all guests.",
        "minimum": 1,
        "maximum": 12,
        "nullable": True,
    }
    assert changes["properties"]["guest"]["enum"] == ["hare", "mouse", None]
    assert values_schema(PARTY, "All.")["properties"]["guest"]["enum"] == ["hare", "mouse"]


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("memory-settings", "extract_every", {"type": "integer", "minimum": 1, "maximum": 200}),
        ("injection-settings", "canon_position", {"type": "string", "enum": ["in_prompt", "in_chat"]}),
    ],
)
def test_the_openapi_document_has_the_settings_of_both_kinds(path: str, name: str, expected: dict[str, Any]) -> None:
    operations = document()["paths"][f"/api/v1/{path}/"]
    [reference] = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"].values()
    reply = document()["components"]["schemas"][reference.rpartition("/")[2]]
    assert reply["properties"]["effective"]["properties"][name].items() >= expected.items()
    sent = operations["patch"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert sent[name]["nullable"]
    assert "integrity" in sent
