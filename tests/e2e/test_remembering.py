"""“Remember this” in a real browser: from a selection, from a message's menu and by keyboard, in place and undone."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.memories.models import Memory
from tests.factories import make_character, make_chat

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SELECT = """([index, text]) => {
  const node = document.querySelector(`#m-${index} .prose p`).firstChild;
  const start = node.data.indexOf(text);
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, start + text.length);
  document.getSelection().removeAllRanges();
  document.getSelection().addRange(range);
}"""


@pytest.fixture
def chat(transactional_db: None) -> Chat:
    alice = User.objects.create_user("alice@example.com", name="Alice")
    return make_chat(alice, "My brother Tom sold the old ferry. I am glad.", "Oh.", character=make_character(alice))


@pytest.fixture
def chat_page(page: Page, live_server: LiveServer, chat: Chat) -> Page:
    client = Client()
    client.force_login(User.objects.get(email="alice@example.com"))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    page.goto(f"/chats/{chat.pk}/")
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")  # the scripts of the page are at work
    return page


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_selected_is_remembered_in_place_and_undone(chat_page: Page, chat: Chat, width: int) -> None:
    page = chat_page
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate(SELECT, [0, "My brother Tom sold the old ferry."])
    page.get_by_role("button", name="Remember this", exact=True).click()
    form = page.locator("#turn-0 .remember form")
    text = form.get_by_label("Text")
    expect(text).to_have_value("My brother Tom sold the old ferry.")
    expect(text).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text.fill("Alice's brother Tom sold the old ferry.")
    form.get_by_label("Kind").select_option("Event")
    form.get_by_role("button", name="Remember it").click()
    card = page.locator("#turn-0 .remember .memory")
    expect(card).to_contain_text("Remembered.")
    memory = Memory.objects.for_owner(chat.owner_id).get()
    assert (memory.text, memory.kind) == ("Alice's brother Tom sold the old ferry.", "event")
    card.get_by_role("button", name="Undo").click()
    expect(card).to_contain_text("Forgotten.")
    memory.refresh_from_db()
    assert memory.deleted_at is not None


def test_a_message_is_remembered_by_its_menu_and_by_keyboard(chat_page: Page, chat: Chat) -> None:
    page = chat_page
    page.locator("#m-1").get_by_label("More actions for this message").click()
    page.get_by_role("link", name="Remember this …").click()
    expect(page.locator("#turn-1 .remember textarea")).to_have_value("Oh.")
    expect(page.locator("#turn-1 .remember textarea")).to_be_focused()  # a moment later; Escape is the form's then
    page.keyboard.press("Escape")
    expect(page.locator(".remember")).to_have_count(0)
    page.locator("#m-0").focus()
    page.keyboard.press("m")
    field = page.locator("#turn-0 .remember textarea")
    expect(field).to_have_value("My brother Tom sold the old ferry. I am glad.")
    field.press("Control+Enter")
    expect(page.locator("#turn-0 .remember .memory")).to_contain_text("Remembered.")
    expect(page.locator(".rail")).to_contain_text("My brother Tom sold the old ferry.")
    assert Memory.objects.for_owner(chat.owner_id).get().source_message_ids == [chat.messages.get(index=0).pk]


def test_the_form_does_not_wait_for_other_parts_of_the_page(chat_page: Page) -> None:
    page = chat_page
    page.route("**/slow/", lambda route: None)  # never answered
    page.evaluate("() => { htmx.ajax('GET', '/slow/', { target: 'main', swap: 'none' }); }")
    page.locator("#m-1").focus()
    page.keyboard.press("m")
    expect(page.locator("#turn-1 .remember textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".remember")).to_have_count(0)
    expect(page.locator("#m-1")).to_be_focused()
