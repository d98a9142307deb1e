"""Pages of the injection settings: forms, errors, the preview, and statistics."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from apps.prompts.models import PromptState
from apps.prompts.pages.settings_forms import REASONS
from apps.prompts.settings.stores import INJECTION_SETTINGS, prompt_settings_of, prompt_settings_of_owner
from tests.factories import UserFactory
from tests.prompts.requests import assemble


@pytest.fixture
def browser(alice) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def page_of(chat):
    return reverse("prompts:chat-settings", args=[chat.pk])


def test_a_user_changes_and_resets_settings(browser, alice):
    page = reverse("prompts:settings")
    assert browser.get(page).status_code == 200
    assert browser.post(page, {"mode": "simple", "total_budget": "900", "adaptive": "off"}).status_code == 302
    settings = prompt_settings_of_owner(alice)
    assert (settings.mode, settings.total_budget, settings.adaptive) == ("simple", 900, False)
    browser.post(page, {"mode": "simple", "initial-mode": "simple", "reset": "mode"})
    assert prompt_settings_of_owner(alice).mode == "advanced"
    assert prompt_settings_of_owner(alice).total_budget == 900


def test_a_template_is_saved_with_plain_line_breaks(browser, chat):
    page = reverse("prompts:character-settings", args=[chat.character_id])
    assert browser.get(page).status_code == 200
    browser.post(page, {"arcs_template": "Threads:\r\n{{entries}}"})
    assert prompt_settings_of(chat).slots["arcs"].template == "Threads:\n{{entries}}"


@pytest.mark.parametrize(
    ("name", "value"), [("arcs_template", "{{broken"), ("arcs_budget", "-1"), ("arcs_budget", "x"), ("mode", "odd")]
)
def test_bad_values_are_shown_with_their_field_and_nothing_is_saved(browser, chat, name, value):
    reply = browser.post(page_of(chat), {name: value, "total_budget": "70"})
    assert reply.status_code == 400
    assert "Nothing was saved" in reply.content.decode()
    assert "field-error" in reply.content.decode()
    assert INJECTION_SETTINGS.stored(chat.owner, chat=chat) == {}
    part = browser.post(reverse("prompts:preview", args=[chat.pk]), {name: value})
    assert part.status_code == 200
    assert "notice danger" in part.content.decode()


def test_the_limits_of_a_number_are_written_in_digits(browser, chat):
    page = browser.post(page_of(chat), {"arcs_budget": "-1"}).content.decode()
    assert "It must be between 0 and 1000000." in page
    assert 'max="1000000"' in page
    assert "e+" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_the_preview_shows_the_prompt_with_unsaved_settings_and_leaves_no_trace(browser, chat, memories):
    url = reverse("prompts:preview", args=[chat.pk])
    whole = browser.post(url, {}).content.decode()
    assert "The silver key lies under the blue stone." in whole
    less = browser.post(url, {"long_term_enabled": "off", "triggered_enabled": "off"}).content.decode()
    assert "The silver key lies under the blue stone." not in less
    page = browser.post(page_of(chat), {"long_term_enabled": "off", "preview": "on"})
    assert page.status_code == 200
    assert INJECTION_SETTINGS.stored(chat.owner, chat=chat) == {}
    assert not PromptState.objects.for_owner(chat.owner).exists()
    assert not chat.recalls.exists()


def test_the_page_shows_what_the_last_prompt_trimmed(browser, chat, remember):
    INJECTION_SETTINGS.change(chat.owner, {"long_term_budget": 30}, chat=chat)
    for number in range(9):
        remember(f"Fact {number}: the road has {number} milestones.")
    assemble(chat, text=None, character=None, context_tokens=8000, with_history=False)
    page = browser.get(page_of(chat)).content.decode()
    assert "left out, all need" in page
    assert re.search(r"left out of the next prompt, \d+ tokens above the budget of \d+\.\s+Left out: \d × Fact\.", page)
    for url in (reverse("prompts:settings"), reverse("prompts:character-settings", args=[chat.character_id])):
        assert "left out of the last prompt of 1 of 1 chat." in browser.get(url).content.decode()


def test_the_page_says_which_rule_set_the_budget_that_cut(browser, chat, remember):
    for number in range(9):
        remember(f"Fact {number}: the road has {number} milestones.")
    url = reverse("prompts:preview", args=[chat.pk])

    def reason(**settings):
        body = browser.post(url, {"adaptive": "off"} | settings).content.decode()
        found = [text for rule, text in REASONS.items() if str(text) in body]
        assert len(found) == 1
        return next(rule for rule, text in REASONS.items() if text == found[0])

    assert reason(long_term_budget="30", triggered_budget="0") == ""
    assert reason(mode="simple", total_budget="200", triggered_enabled="off") == "share"
    assert reason(mode="unified", unified_budget="60", triggered_enabled="off") == "context"


def test_pages_of_others_do_not_exist(chat):
    stranger = Client()
    stranger.force_login(UserFactory())
    for url in (page_of(chat), reverse("prompts:character-settings", args=[chat.character_id])):
        assert stranger.get(url).status_code == 404
    assert stranger.post(reverse("prompts:preview", args=[chat.pk])).status_code == 404


def test_the_card_says_while_it_is_edited_where_its_text_cannot_fit(browser, chat, memories):
    turn = chat.messages.order_by("index").last()
    browser.get(reverse("prompts:card", args=[chat.pk, turn.pk]))
    form = browser.get(reverse("prompts:card", args=[chat.pk, turn.pk]) + "?change").content.decode()
    assert 'id="recall-size"' in form
    url = reverse("prompts:size", args=[chat.pk, turn.pk])
    assert "Nothing is cut" not in browser.post(url, {"text": "The key is made of glass."}).content.decode()
    assert "Nothing is cut" in browser.post(url, {"text": "word " * 19_000}).content.decode()
