"""The recap after an absence, in a real browser: one tab shows it, and its dismissal counts for all."""

import datetime as dt

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.chats.models import Chat
from tests.e2e.test_accessibility import DESK, PHONE
from tests.e2e.test_chat_page import alice, signed_in  # noqa: F401
from tests.factories import make_character, make_chat, make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def chat(alice) -> Chat:  # noqa: F811
    chat = make_chat(alice, "Where now?", "North.", character=make_character(alice), title="The Salt Road")
    for text in ("They left the city at dawn.", "Bram swore to bring the silver key back before the snow comes."):
        make_memory(chat, text, tier="session", kind="scene")
    then = timezone.now() - dt.timedelta(hours=30)
    Chat.objects.for_owner(alice).filter(pk=chat.pk).update(last_active=then, last_used=then)
    return chat


def dialog_of(page: Page):
    return page.get_by_role("dialog", name="Previously on The Salt Road")


def test_one_of_two_tabs_shows_the_recap_and_both_are_done_with_it(signed_in: Page, chat: Chat):  # noqa: F811
    first, second = signed_in, signed_in.context.new_page()
    first.goto(f"/chats/{chat.pk}/")
    expect(dialog_of(first)).to_contain_text("They left the city at dawn.")
    with second.expect_response(lambda response: response.url.endswith("/recap/")) as answer:
        second.goto(f"/chats/{chat.pk}/")
    assert answer.value.status == 200
    expect(second.locator("#away-recap")).to_have_count(0)
    expect(first.get_by_role("button", name="Continue")).to_be_focused()
    with first.expect_response(lambda response: response.url.endswith("/dismiss/")):
        first.keyboard.press("Escape")
    expect(dialog_of(first)).to_have_count(0)
    for page in (first, second):
        with page.expect_response(lambda response: response.url.endswith("/recap/")) as answer:
            page.reload()
        assert answer.value.status == 204


def test_the_recap_fits_the_screen_and_is_dismissed_by_its_button(
    signed_in: Page,  # noqa: F811
    chat: Chat,
):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    expect(dialog_of(page)).to_be_visible()
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect(page.get_by_role("button", name="Continue")).to_be_in_viewport()
    page.get_by_role("button", name="Continue").click()
    expect(dialog_of(page)).to_have_count(0)
