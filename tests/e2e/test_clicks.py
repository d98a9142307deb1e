"""How many clicks lie between a person and what they came for."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from apps.accounts.models import User
from apps.chats.operations import organize_chat
from tests.conftest import WebServer
from tests.e2e.test_live_chat import device
from tests.factories import make_character, make_chat, make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def context(browser: Browser, web_server: WebServer, alice: User) -> Iterator[BrowserContext]:
    with device(browser, web_server, alice) as context:
        yield context


def test_the_first_message_is_two_clicks_away(context: BrowserContext, alice: User):
    make_character(alice, "Mira", first_mes="Come in, Alice.")
    make_chat(alice, "Hello.")
    page = context.new_page()
    page.goto("/")
    page.get_by_role("link", name="New", exact=True).click()
    page.get_by_role("button", name="Mira").first.click()
    expect(page.get_by_role("region", name="Messages").get_by_text("Come in, Alice.")).to_be_visible()
    page.wait_for_load_state()  # the script of keys comes after the text
    page.keyboard.press("w")
    page.keyboard.type("Good evening.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".turn").last).to_contain_text("Good evening.")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_memory_book_is_one_click_from_a_chat(context: BrowserContext, alice: User, width: int):
    chat = make_chat(alice, "The key is below the stone.")
    make_memory(chat, "The key is below the stone.")
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"/chats/{chat.pk}/")
    page.get_by_role("link", name="Memory book").locator("visible=true").first.click()
    expect(page.get_by_role("heading", name="Memory book")).to_be_visible()
    expect(page.get_by_text("The key is below the stone.").first).to_be_visible()


def test_the_list_narrows_as_one_types_into_all_folders(context: BrowserContext, alice: User):
    for title in ("The heist", "The harbour", "A winter journey"):
        make_chat(alice, "Hello.", title=title)
    organize_chat(make_chat(alice, "Hello.", title="The hearth"), folder="Old")
    page = context.new_page()
    page.goto("/")
    page.get_by_role("searchbox", name="Find by title or words").press_sequentially("the hea")
    expect(page.locator(".shelf .entry-title")).to_have_text(["The hearth"])
    page.get_by_role("searchbox", name="Find by title or words").fill("")
    expect(page.locator(".shelf .entry-title")).to_have_text(["Old", "A winter journey", "The harbour", "The heist"])


def test_a_chat_is_moved_into_a_folder_by_keyboard(context: BrowserContext, alice: User):
    make_chat(alice, "Hello.", title="The heist")
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Choose “The heist”").check()
    page.keyboard.press("f")
    page.keyboard.type("Slow burns")
    page.keyboard.press("Enter")
    page.locator(".shelf-folder").get_by_role("link", name="Slow burns").click()
    expect(page.locator(".shelf .entry-title")).to_have_text(["The heist"])
