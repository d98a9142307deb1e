"""The list of chats follows what is done elsewhere, and several chats are chosen and put in order."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.models import Chat
from tests.conftest import WebServer
from tests.e2e.test_live_chat import device
from tests.factories import make_character, make_chat, parsed

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TITLES = ["First", "Second", "Third"]
UNBROKEN = "W" * 190


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def chats(alice: User) -> list[Chat]:
    return [make_chat(alice, f"Hello from {title}.", title=title) for title in TITLES]


@pytest.fixture
def context(browser: Browser, web_server: WebServer, alice: User) -> Iterator[BrowserContext]:
    complaints: list[str] = []
    with device(browser, web_server, alice) as context:
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        yield context
    assert complaints == []


def open_list(context: BrowserContext, query: str = "") -> Page:
    """The list in a new tab, once it follows what is done elsewhere."""
    page = context.new_page()
    with page.expect_response(lambda reply: "page=1" in reply.url):  # read again as soon as the stream is open
        page.goto(f"/{query}")
    return page


def titles(page: Page) -> Locator:
    return page.locator(".shelf .entry-title")


def test_a_list_follows_what_is_done_elsewhere(context: BrowserContext, alice: User, chats: list[Chat]):
    page = open_list(context)
    expect(titles(page)).to_have_text(["Third", "Second", "First"])
    operations.append_messages(alice, chats[0].pk, [parsed("The door is open.")])
    expect(titles(page)).to_have_text(["First", "Third", "Second"])
    expect(page.locator(".shelf-row").first).to_contain_text("The door is open.")
    make_chat(alice, "Hello.", title="Fourth")
    expect(titles(page)).to_have_text(["Fourth", "First", "Third", "Second"])
    operations.delete_chat(chats[1])
    expect(titles(page)).to_have_text(["Fourth", "First", "Third"])
    operations.organize_chat(chats[2], pinned=True)
    expect(titles(page)).to_have_text(["Third", "Fourth", "First"])


def test_what_one_has_chosen_and_focused_stays_so(context: BrowserContext, alice: User, chats: list[Chat]):
    page = open_list(context)
    page.get_by_label("Choose “Second”").check()
    page.get_by_role("link", name="First").focus()
    operations.append_messages(alice, chats[0].pk, [parsed("The door is open.")])
    expect(titles(page)).to_have_text(["First", "Third", "Second"])
    expect(page.get_by_label("Choose “Second”")).to_be_checked()
    expect(page.get_by_role("link", name="First")).to_be_focused()
    expect(page.locator("[data-chosen]")).to_have_text("1 chosen")


def test_the_list_beside_a_conversation_follows_too(context: BrowserContext, alice: User, chats: list[Chat]):
    page = context.new_page()
    page.goto(f"/chats/{chats[2].pk}/")
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")
    operations.append_messages(alice, chats[0].pk, [parsed("The door is open.")])
    expect(page.locator(".beside-list .entry-title")).to_have_text(["First", "Third", "Second"])
    expect(page.locator(".beside-list [aria-current]")).to_contain_text("Third")


def test_several_chats_are_archived_by_keyboard_and_come_back(context: BrowserContext, chats: list[Chat]):
    page = open_list(context)
    page.keyboard.press("a")  # nothing is chosen yet
    expect(titles(page)).to_have_text(["Third", "Second", "First"])
    for key in "jxjx":
        page.keyboard.press(key)
    expect(page.locator("[data-chosen]")).to_have_text("2 chosen")
    page.keyboard.press("a")
    expect(titles(page)).to_have_text(["First"])
    expect(page.get_by_text("2 chats are archived.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(titles(page)).to_have_text(["Third", "Second", "First"])


def test_several_chats_are_tagged_and_deleted_into_the_bin(context: BrowserContext, chats: list[Chat]):
    page = open_list(context)
    page.get_by_label("Choose “Third”").check()
    page.get_by_label("Choose “First”").click(modifiers=["Shift"])
    expect(page.locator("[data-chosen]")).to_have_text("3 chosen")
    page.get_by_label("Choose “Second”").uncheck()
    page.keyboard.press("t")
    page.keyboard.type("dark")
    page.keyboard.press("Enter")
    page.get_by_role("navigation", name="Filters").get_by_role("link", name="dark").click()
    expect(titles(page)).to_have_text(["Third", "First"])
    page.get_by_label("Choose “Third”").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(titles(page)).to_have_text(["First"])
    page.get_by_role("button", name="Undo").click()
    expect(titles(page)).to_have_text(["Third", "Second", "First"])


def test_nothing_makes_the_list_scroll_sideways_on_a_phone(context: BrowserContext, alice: User):
    character = make_character(alice, f"Mira {UNBROKEN}")
    for number in range(3):
        chat = make_chat(alice, UNBROKEN * 3, title=f"{number} {UNBROKEN}", character=character)
        operations.organize_chat(chat, tags=["x" * 50, "y" * 50, "slow burn"], pinned=number == 0)
    operations.organize_chat(make_chat(alice, title="Old"), archived=True)
    page = open_list(context)
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator(".shelf-row input").first.check()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(page.locator(".choice-bar")).to_be_in_viewport()
        expect(page.locator(".shelf-row .menu summary").first).to_be_in_viewport()
