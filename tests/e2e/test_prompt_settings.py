"""The settings of the prompt in a browser: the live preview, a phone's width, and accessibility."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.prompts.settings.stores import INJECTION_SETTINGS
from tests.conftest import missing
from tests.e2e.test_accessibility import AXE, DESK, PHONE, WAYS, violations_on
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.prompts.requests import assemble

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def chat(transactional_db):
    alice = UserFactory()
    chat = make_chat(alice, "Hello.", "Good morning.", "Where is the key?", character=make_character(alice))
    for number in range(6):
        make_memory(chat, f"Fact {number}: the road to the coast has {number} milestones.")
    INJECTION_SETTINGS.change(alice, {"long_term_budget": 60}, chat=chat)
    assemble(chat, text=None, character=None, context_tokens=8000, with_history=False)
    return chat


@pytest.fixture
def signed_in(chat, page: Page, live_server: LiveServer) -> Page:
    client = Client()
    client.force_login(chat.owner)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return page


def test_the_preview_follows_the_form_and_nothing_is_saved(chat, signed_in: Page) -> None:
    signed_in.goto(f"/chats/{chat.pk}/prompt-settings/")
    preview = signed_in.locator("#prompt-preview")
    expect(preview).to_contain_text("of 72 tokens")  # 60, weighted for a dialogue
    signed_in.get_by_label("Follow the turn").select_option("off")
    expect(preview).to_contain_text("of 60 tokens")
    signed_in.get_by_role("button", name="Save").last.click()
    expect(signed_in.locator("body")).to_contain_text("Saved. Applies from the next prompt.")
    assert INJECTION_SETTINGS.stored(chat.owner, chat=chat) == {"long_term_budget": 60, "adaptive": False}


def test_a_slider_and_its_number_say_the_same(chat, signed_in: Page) -> None:
    signed_in.goto(f"/chats/{chat.pk}/prompt-settings/")
    number = signed_in.locator("#id_long_term_budget")
    slider = signed_in.get_by_role("slider", name="Tokens of Lasting memories")
    expect(slider).to_have_value("60")
    expect(signed_in.get_by_role("listitem").filter(has=slider)).to_contain_text("left out of the next prompt")
    number.fill("3333")
    expect(slider).to_have_value("3330")  # it reaches as far as the number, which stays as typed
    slider.fill("80")
    expect(number).to_have_value("80")
    slider.press("ArrowRight")
    expect(number).to_have_value("90")
    expect(signed_in.locator("#prompt-preview")).to_contain_text("of 108 tokens")  # 90, weighted for a dialogue
    number.fill("")
    expect(slider).to_have_value("500")  # what is inherited
    slider.fill("70")
    signed_in.get_by_role("button", name="Save").last.click()
    expect(signed_in.locator("body")).to_contain_text("Saved. Applies from the next prompt.")
    assert INJECTION_SETTINGS.stored(chat.owner, chat=chat) == {"long_term_budget": 70}


def test_the_page_of_a_filled_chat_fits_a_phone_and_has_no_violation(chat, signed_in: Page) -> None:
    """Those of characters and of the account have less on them, and are among all pages at which axe looks."""
    if not AXE.exists():
        missing("axe-core is not installed (npm ci).")
    signed_in.add_init_script(path=AXE)
    assert violations_on(signed_in, f"/chats/{chat.pk}/prompt-settings/", WAYS[1:]) == []
    for size in (PHONE, DESK):
        signed_in.set_viewport_size(size)
        assert signed_in.evaluate("document.documentElement.scrollWidth") <= size["width"]
