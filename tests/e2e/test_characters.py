"""Characters in a real browser: a card is dropped on the page, read, and talked to."""

import json

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from tests.e2e.test_chat_page import DROP
from tests.exchange.cards_made import BOOK, v3_card
from tests.factories import make_character

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def signed_in(page: Page, live_server: LiveServer) -> Page:
    client = Client()
    client.force_login(User.objects.create_user("alice@example.com", name="Alice"))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return page


def test_a_dropped_card_is_read_and_talked_to(signed_in: Page) -> None:
    page = signed_in
    page.goto("/characters/")
    page.evaluate(DROP, ["mira.json", json.dumps(v3_card(character_book=BOOK))])
    expect(page.get_by_role("heading", name="Mira")).to_be_visible()
    expect(page.get_by_text("Mira and a lorebook of 2 entries were imported.")).to_be_visible()
    page.get_by_text("stone", exact=True).click()
    expect(page.get_by_text("It is blue.")).to_be_visible()
    page.get_by_role("button", name="Start a chat").click()
    expect(page.locator("#turn-0")).to_contain_text("I am Mi.")
    expect(page.locator("#turn-0")).to_contain_text("1/2")


def test_the_first_message_is_two_clicks_away_and_the_book_one_more(signed_in: Page) -> None:
    page = signed_in
    make_character(User.objects.get(), "Mira", first_mes="Hello, {{user}}.")
    page.goto("/")
    page.get_by_role("link", name="New", exact=True).click()
    page.get_by_role("button", name="Mira", exact=False).first.click()
    expect(page.locator("#turn-0")).to_contain_text("Hello, Alice.")
    page.locator(".to-book").click()
    expect(page.get_by_role("heading", name="Memory book")).to_be_visible()


def test_a_chat_dropped_as_a_card_is_told_apart(signed_in: Page) -> None:
    page = signed_in
    page.goto("/characters/")
    page.evaluate(DROP, ["chat.jsonl", '{"user_name": "Alice", "chat_metadata": {}}\n{"name": "Mira", "mes": "Hi"}'])
    expect(page.get_by_text("This looks like a chat. Import it with your chats.")).to_be_visible()
    expect(page.locator("#drop-veil")).to_be_hidden()
