"""The memory book in a real browser: memories chosen by keyboard, merged, and the merge undone; on a phone, too."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from tests.factories import make_character, make_chat, make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def chat(transactional_db: None) -> Chat:
    alice = User.objects.create_user("alice@example.com", name="Alice")
    chat = make_chat(alice, "I like tea.", "Hm.", "Green tea.", "Ah.", character=make_character(alice))
    for text, message in zip(
        ("Tom likes tea.", "Tom likes green tea.", "Mira hums."), chat.messages.all(), strict=False
    ):
        make_memory(chat, text, valid_from=message)
    create_knowledge(chat, "knows", "Mira", "Which tea Tom likes, and that he drinks it cold.", editor="a")
    create_knowledge(chat, "hiding", "Tom", "That there is none left.", editor="a", target="Mira")
    set_relationship(chat, "Mira", "Tom", "fond", "high", editor="a")
    set_field_by_hand(chat, "Mira", "character", "location", "the kitchen of a very long house", editor="a")
    return chat


@pytest.fixture
def signed_in(page: Page, live_server: LiveServer, chat: Chat) -> Page:
    client = Client()
    client.force_login(User.objects.get(email="alice@example.com"))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return page


def test_memories_are_chosen_by_keyboard_merged_and_the_merge_undone(signed_in: Page, chat: Chat) -> None:
    page = signed_in
    page.goto(f"/memories/chats/{chat.pk}/book/")
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator(".timeline-mark :checked")).to_have_count(2)
    page.get_by_role("button", name="Merge the chosen ones").click()
    page.get_by_role("textbox", name="Text").fill("Tom likes his tea green.")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("2 memories were merged.")).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The merge was undone: 2 memories are active again.")).to_be_visible()
    page.goto(f"/memories/chats/{chat.pk}/book/")
    expect(page.locator(".timeline .memory-text")).to_have_text(
        ["Tom likes tea.", "Tom likes green tea.", "Mira hums."]
    )


def test_a_memory_is_edited_in_place_by_keyboard_and_that_undone(signed_in: Page, chat: Chat) -> None:
    page = signed_in
    page.goto(f"/memories/chats/{chat.pk}/book/")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Text").fill("Tom likes coffee.")
    page.get_by_role("button", name="Save").click()
    first = page.locator(".timeline-entry").first
    expect(first.locator(".memory-text")).to_have_text("Tom likes coffee.")
    first.get_by_role("button", name="Undo").click()
    expect(first.locator(".memory-text")).to_have_text("Tom likes tea.")


@pytest.mark.parametrize("path", ["/memories/", "/memories/chats/{chat}/book/"])
def test_several_memories_are_pinned_and_forgotten_by_keyboard(signed_in: Page, chat: Chat, path: str) -> None:
    page = signed_in
    page.goto(path.format(chat=chat.pk))
    bar = page.locator("#chosen")
    expect(bar.get_by_role("button", name="Pin", exact=True)).to_be_disabled()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(bar).to_contain_text("2 chosen")
    page.keyboard.press("p")
    expect(page.get_by_text("2 memories pinned.")).to_be_visible()
    expect(page.locator(".badge", has_text="pinned")).to_have_count(2)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone for 2 memories.")).to_be_visible()
    page.goto(path.format(chat=chat.pk))
    page.keyboard.press("a")
    expect(bar).to_contain_text("3 chosen")
    page.keyboard.press("Delete")
    expect(page.get_by_text("3 memories forgotten.")).to_be_visible()
    expect(page.locator(".memory")).to_have_count(0)


def test_a_range_is_chosen_with_shift_and_the_bar_fits_a_phone(signed_in: Page, chat: Chat) -> None:
    page = signed_in
    page.set_viewport_size(PHONE)
    page.goto("/memories/")
    boxes = page.locator(".choose")
    boxes.first.click()
    boxes.last.click(modifiers=["Shift"])
    expect(page.locator("#chosen")).to_contain_text("3 chosen")
    expect(page.locator("#chosen")).to_be_in_viewport()
    page.locator("#chosen").get_by_text("More").click()
    expect(page.get_by_role("button", name="High importance")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(f"/memories/chats/{chat.pk}/book/knowledge/")
    expect(page.get_by_role("row", name="Tom That")).to_contain_text("That there is none left.")
