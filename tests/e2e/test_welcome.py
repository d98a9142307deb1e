"""A new user imports a chat of their own, sees a memory of it, and is asked when the same chat comes again."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from apps.accounts.models import User
from apps.chats.models import Chat
from tests.conftest import WebServer
from tests.e2e.test_live_chat import device
from tests.factories import make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

STORY = ["Come in.", "Where is it?", "Under the blue stone."]


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def context(browser: Browser, web_server: WebServer, alice: User) -> Iterator[BrowserContext]:
    with device(browser, web_server, alice) as context:
        yield context


def choose_file(page: Page, texts: list[str]) -> None:
    lines: list[dict[str, object]] = [{"user_name": "Alice", "character_name": "Mira"}]
    for number, text in enumerate(texts):
        is_user = number % 2 == 1
        lines.append({"name": "Alice" if is_user else "Mira", "is_user": is_user, "mes": text})
    content = "\n".join(map(json.dumps, lines)).encode()
    page.set_input_files("#import-file", {"name": "Mine.jsonl", "mimeType": "text/plain", "buffer": content})


def test_the_welcome_ends_with_a_memory_of_ones_own_chat(context: BrowserContext, alice: User):
    page = context.new_page()
    page.goto("/")
    expect(page.get_by_text("Loci is a memory for long chats with language models.")).to_be_visible()
    choose_file(page, STORY)
    expect(page.get_by_text("Your chat is here.")).to_be_visible()
    expect(page.get_by_text("Loci is reading your chat.")).to_be_visible()
    chat = Chat.objects.for_owner(alice).get()
    make_memory(chat, "The key is under the blue stone.", valid_from=chat.messages.get(index=2))
    expect(page.get_by_text("This is a memory of your chat.")).to_be_visible()
    page.get_by_role("button", name="Don't show this again").click()
    expect(page.get_by_text("Welcome to Loci")).to_have_count(0)
    choose_file(page, [*STORY, "Thanks."])
    expect(page.get_by_text("You have this chat already.")).to_be_visible()
    expect(page.get_by_text("the file has 1 other message")).to_be_visible()
    page.get_by_role("button", name="Update this chat").click()
    expect(page.get_by_text("Waiting for its turn")).to_be_visible()
