"""The page of settings: three cards, and a search over everything that can be set."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.settings_pages import GROUPS
from apps.common.pages.settings_index import find_settings
from apps.extraction.settings.schema import SETTINGS
from apps.extraction.settings.stores import stored_settings
from apps.prompts.settings.schema import SETTINGS as PROMPT_SETTINGS
from apps.prompts.settings.schema import SLOT_ABOUT
from apps.prompts.slots.definitions import ALL_SLOTS
from tests.factories import UserFactory


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


def test_the_level_of_memory_is_chosen_on_the_first_page(site: Client, alice: User) -> None:
    html = site.get("/settings/").content.decode()
    assert pressed(html) == ["balanced"]
    reply = site.post("/settings/memory/", {"preset": "light", "next": "overview"})
    assert reply["Location"] == "/settings/"
    assert stored_settings(alice)["extract_every"] == 10
    assert pressed(site.get("/settings/").content.decode()) == ["light"]


def pressed(html: str) -> list[str]:
    """Return the names of the levels that are shown as chosen."""
    return re.findall(r'name="preset"\s+value="(\w+)"\s+aria-pressed="true"', html)


@pytest.mark.parametrize(
    ("words", "label", "place"),
    [
        ("messages at a time", "Messages at a time", "/settings/memory/#id_chunk"),
        ("CANON history", "Canon", "/settings/memory/#id_canon"),
        ("refresh", "Refresh every", "/settings/prompt/#id_refresh_period"),
        ("ledger tokens", "State ledger", "/settings/prompt/#id_state_ledger_budget"),
        ("time zone", "Time zone", "/settings/#you"),
        ("two-step", "Two-step sign-in", "/accounts/2fa/"),
    ],
)
def test_any_setting_is_found_by_its_words(site: Client, alice: User, words: str, label: str, place: str) -> None:
    html = site.get("/settings/", {"q": words}).content.decode()
    assert f'<a href="{place}">{label}</a>' in html


def test_words_that_no_setting_has_are_repeated_escaped(site: Client, alice: User) -> None:
    html = site.get("/settings/", {"q": "<b>nothing"}).content.decode()
    assert "No setting has “&lt;b&gt;nothing”" in html


def test_each_link_of_the_index_leads_to_a_field(site: Client, alice: User) -> None:
    found = [setting for query in ("memory", "prompt", "model", "settings") for setting in find_settings(query)]
    pages = {path: site.get(path).content.decode() for path in {setting.url.partition("#")[0] for setting in found}}
    for setting in found:
        path, _, anchor = setting.url.partition("#")
        assert not anchor or f'id="{anchor}"' in pages[path], setting


def test_every_setting_and_every_page_says_what_it_does() -> None:
    mute = [name for name, setting in PROMPT_SETTINGS.items() if not setting.help]
    mute += [slot.name for slot in ALL_SLOTS if not SLOT_ABOUT[slot.name]]
    mute += [str(page.label) for group in GROUPS for page in group.pages if not page.about]
    assert mute == []
    for name in ("canon", "profile", "extract_every"):
        assert len(str(SETTINGS[name].help).split()) >= 5


def test_each_page_of_the_overview_is_there(site: Client, alice: User) -> None:
    for group in GROUPS:
        for page in group.pages:
            assert site.get(reverse(page.view)).status_code in (200, 302), page.view
