"""A person brings a chat, reads it, writes to it and corrects it, in a real browser."""

import json
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.prompts.models import Recall
from apps.prompts.turns import text_hash
from tests.factories import make_character, make_chat, parsed

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

PASSWORD = "alice-password"
# What a file dropped by hand does, in the page's own words.
DROP = """([name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  for (const type of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }
}"""
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
LYING_PHONE: ViewportSize = {"width": 844, "height": 390}
# The paragraph at the upper edge of the conversation, or that the end is at the lower edge.
READ = """() => {
  const scroller = document.getElementById("scroller");
  const { top } = scroller.getBoundingClientRect();
  if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 8) return "the end";
  const paragraphs = [...scroller.querySelectorAll(".prose > p")];
  return paragraphs.find((paragraph) => paragraph.getBoundingClientRect().bottom > top).textContent;
}"""
# Scrolls by so many pixels and makes the composer so high, in one frame. Returns how far below the view the end is.
SCROLL_AND_RESIZE = """async ([by, padding]) => {
  const scroller = document.getElementById("scroller");
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
  scroller.scrollTop += by;
  document.getElementById("composer").style.paddingTop = `${padding}px`;
  for (let n = 0; n < 3; n += 1) await frame();
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
}"""
TOP_OF = "turn => turn.getBoundingClientRect().top"


@pytest.fixture
def alice(transactional_db) -> User:
    return User.objects.create_user("alice@example.com", PASSWORD, welcomed_at=timezone.now())


@pytest.fixture
def signed_in(page: Page, alice: User, live_server: LiveServer) -> Iterator[Page]:
    """A page on which nothing may go wrong unseen: a script's error, or what the content policy refuses."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    client = Client()
    client.force_login(alice)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    yield page
    assert complaints == []


@pytest.fixture
def chat(alice) -> Chat:
    return make_chat(alice, *[f"This is turn {number}." for number in range(160)], character=make_character(alice))


def sign_in(page: Page, user: User) -> None:
    page.get_by_label("Email").fill(user.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password", exact=True).press("Enter")


def chat_file(count: int) -> str:
    header = {"user_name": "Alice", "character_name": "Mira", "chat_metadata": {}}
    messages = [{"name": "Mira", "is_user": False, "mes": f"Line {number}"} for number in range(count)]
    return "\n".join(json.dumps(line) for line in [header, *messages])


def turn(page: Page, index: int) -> Locator:
    return page.locator(f"#turn-{index}")


def test_a_file_dropped_on_the_page_becomes_a_chat(signed_in: Page):
    page = signed_in
    page.goto("/")
    page.evaluate(DROP, ["The heist.jsonl", chat_file(3) + "\nbroken"])
    expect(page.get_by_role("heading", name="The heist")).to_be_visible()
    expect(page.get_by_text("3 messages imported. 1 line skipped")).to_be_visible()
    expect(turn(page, 2)).to_contain_text("Line 2")


def test_a_file_that_is_no_chat_is_refused_where_one_is(signed_in: Page):
    page = signed_in
    page.goto("/")
    page.evaluate(DROP, ["photo.jsonl", "\x00\x01"])
    expect(page.get_by_text("photo.jsonl was not imported.")).to_be_visible()
    expect(page.locator("#drop-veil")).to_be_hidden()
    page.set_input_files(
        "#import-file", {"name": "Good.jsonl", "mimeType": "text/plain", "buffer": chat_file(1).encode()}
    )
    expect(page.get_by_role("heading", name="Good")).to_be_visible()


def test_windows_come_as_one_scrolls_and_the_text_stays_where_it_is(signed_in: Page, chat: Chat):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    expect(turn(page, 159)).to_be_in_viewport()
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")  # what comes with it keeps the end in view
    for earliest in (60, 10, 0):
        first = page.locator(".turn").first
        first.scroll_into_view_if_needed()
        expect(turn(page, earliest)).to_be_attached()
    page.goto(f"/chats/{chat.pk}/?at=80")
    expect(turn(page, 80)).to_be_in_viewport()
    expect(turn(page, 22)).to_be_attached()
    before = turn(page, 80).evaluate(TOP_OF)
    page.locator("#scroller").evaluate("scroller => scroller.scrollBy(0, -100)")
    page.wait_for_timeout(500)
    assert turn(page, 80).evaluate(TOP_OF) == pytest.approx(before + 100, abs=2)


@pytest.mark.parametrize("at", [40, 119])
def test_what_one_reads_stays_in_view_when_the_window_gets_narrower_and_wider(
    signed_in: Page, alice: User, at: int
) -> None:
    paragraphs = [
        "\n\n".join(f"Mile {number}.{part}: " + "We walked on along the shore. " * 12 for part in range(4))
        for number in range(120)
    ]
    long = make_chat(alice, *paragraphs, character=make_character(alice))
    page = signed_in
    page.set_viewport_size(DESK)
    page.goto(f"/chats/{long.pk}/" + (f"?at={at}" if at < 119 else ""))
    expect(turn(page, at)).to_be_in_viewport()
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")
    if at < 119:
        page.mouse.move(640, 450)
        page.mouse.wheel(0, 130)
        page.wait_for_timeout(300)
    else:
        page.wait_for_function(f"({READ})() === 'the end'")
    read = page.evaluate(READ)
    for size in (PHONE, LYING_PHONE, PHONE, DESK):
        page.set_viewport_size(size)
        page.wait_for_function(f"read => ({READ})() === read", arg=read)


def test_a_scroll_counts_in_the_frame_in_which_the_view_gets_smaller(signed_in: Page, chat: Chat) -> None:
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    page.wait_for_function(f"({READ})() === 'the end'")
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")
    for by, padding in ((-1, 120), (-1, 0), (0, 120), (0, 0)):
        assert page.evaluate(SCROLL_AND_RESIZE, [by, padding]) < 8
    assert page.evaluate(SCROLL_AND_RESIZE, [-400, 120]) > 400


def test_a_message_is_written(signed_in: Page, chat: Chat):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    page.get_by_label("Your message").fill("Where is *the key*?")
    page.get_by_label("Your message").press("Control+Enter")
    expect(turn(page, 160)).to_contain_text("Where is the key?")
    expect(turn(page, 160)).to_be_in_viewport()
    expect(page.get_by_label("Your message")).to_have_value("")
    page.get_by_label("Write as").select_option("Mira")
    page.get_by_label("Your message").fill("Under the stone.")
    page.get_by_role("button", name="Send").click()
    expect(turn(page, 161).locator(".speaker")).to_have_text("Mira")


def test_a_message_is_edited_by_keyboard(signed_in: Page, chat: Chat):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/?at=80")
    expect(turn(page, 22)).to_be_attached()  # what loads meanwhile takes nobody's focus
    expect(page.locator("#m-80")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#m-81")).to_be_focused()
    page.keyboard.press("e")
    field = turn(page, 81).get_by_role("textbox")
    expect(field).to_be_focused()
    field.fill("This turn is new.")
    field.press("Control+Enter")
    expect(turn(page, 81).locator(".prose")).to_have_text("This turn is new.")
    expect(page.locator("#m-81")).to_be_focused()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_buttons_of_an_editor_are_in_sight_at_the_lower_edge(signed_in: Page, alice: User, size: ViewportSize):
    page = signed_in
    text = "The road goes on and on, past the mill and the well and the stones of the old wall. " * 12
    chat = make_chat(alice, "Hello.", text, character=make_character(alice))
    page.set_viewport_size(size)
    page.goto(f"/chats/{chat.pk}/")
    turn(page, 1).get_by_label("Edit this message").click()
    expect(turn(page, 1).get_by_role("textbox")).to_be_focused()
    edge = page.locator("#scroller").bounding_box()
    for name in ("Save", "Cancel"):
        button = turn(page, 1).get_by_role("button", name=name).bounding_box()
        assert button["y"] + button["height"] <= edge["y"] + edge["height"]


def replace_turn(page: Page, index: int) -> None:
    """Replace a turn by what the server has of it, as actions of its menu do."""
    page.evaluate(
        """index => {
            const turn = document.querySelector(`.turn[data-index="${index}"]`), stored = turn.cloneNode(true);
            stored.querySelector('[role="alert"]').remove();
            turn.replaceWith(stored);
            const detail = { target: stored, elt: stored, requestConfig: { elt: stored } };
            stored.dispatchEvent(new CustomEvent("htmx:afterSwap", { bubbles: true, detail }));
        }""",
        index,
    )


def test_a_conflict_loses_neither_text(signed_in: Page, chat: Chat, alice: User):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/?at=80")
    page.locator("#m-80").hover()
    turn(page, 80).get_by_role("link", name="Edit").click()
    field = turn(page, 80).get_by_role("textbox")
    field.fill("Mine.")
    patch_messages(alice, chat.pk, [Patch({"mes": "Theirs."}, index=80)], Guard(chat.integrity))
    page.get_by_role("button", name="Save").click()
    expect(turn(page, 80).get_by_role("alert")).to_contain_text("Theirs.")
    expect(turn(page, 80).get_by_role("alert")).to_contain_text("Mine.")
    replace_turn(page, 80)
    expect(turn(page, 80).get_by_role("alert")).to_contain_text("Mine.")
    page.get_by_role("button", name="Keep mine").click()
    expect(turn(page, 80).locator(".prose")).to_have_text("Mine.")


def test_keys_and_their_help(signed_in: Page, chat: Chat):
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search everything")).to_be_focused()


def test_arrow_keys_outside_of_a_message_are_the_pages_own(signed_in: Page, chat: Chat):
    page = signed_in
    for path in ("/journal/", f"/chats/{chat.pk}/"):
        page.goto(path)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
    expect(turn(page, 159)).to_be_in_viewport()


def test_nothing_is_wider_than_the_window(signed_in: Page, alice: User, chat: Chat):
    page = signed_in
    long = make_chat(alice, "Hm_" * 40, title="Megumin_1673323621108_2023-01_" * 3, character=make_character(alice))
    for path in ("/", "/chats/new/", f"/chats/{chat.pk}/", f"/chats/{long.pk}/", f"/chats/{long.pk}/delete/"):
        page.goto(path)
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path


def test_without_scripts_one_reads_and_writes(browser: Browser, live_server: LiveServer, alice: User, chat: Chat):
    with browser.new_context(java_script_enabled=False, base_url=live_server.url) as context:
        page = context.new_page()
        page.goto(f"/chats/{chat.pk}/")
        sign_in(page, alice)
        expect(turn(page, 159)).to_be_visible()
        page.get_by_label("Your message").fill("Hello there")
        page.get_by_role("button", name="Send").click()
        expect(turn(page, 160)).to_contain_text("Hello there")
        page.get_by_role("link", name="Earlier messages").click()
        expect(turn(page, 61)).to_be_attached()
        page.get_by_role("link", name="Later messages").click()
        expect(turn(page, 111)).to_be_attached()


def test_a_chat_is_deleted_and_brought_back_on_a_phone(signed_in: Page, alice: User, chat: Chat) -> None:
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/chats/{chat.pk}/delete/")
    page.get_by_label("Keep what Mira learnt").check()
    page.get_by_role("button", name="Delete the chat").click()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(f"/chats/{chat.pk}/")
    page.goto(f"/chats/{chat.pk}/delete/")
    page.get_by_role("button", name="Delete the chat").click()
    page.goto("/chats/deleted/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Delete for good").click()
    page.get_by_role("link", name="Leave it").click()
    page.get_by_role("button", name="Restore").click()
    page.wait_for_url(f"/chats/{chat.pk}/")
    assert Chat.objects.for_owner(alice).exists()


def test_a_recall_card_at_the_end_comes_into_view_when_it_is_opened(signed_in: Page, chat: Chat, alice: User) -> None:
    turn = append_messages(alice, chat.pk, [parsed("Where is the key?", is_user=True)]).messages[0]
    line = {"kind": "fact", "text": "The key is hidden.", "why": "", "score": 0.5, "message": None, "triggered": True}
    texts = {"text": "The key is hidden.", "turn_hash": text_hash(turn.mes)}
    Recall.objects.create(owner_id=alice.pk, chat=chat, message=turn, memories=[line] * 3, **texts)
    page = signed_in
    page.goto(f"/chats/{chat.pk}/")
    page.locator(".recall-summary").click()
    expect(page.locator(".recall-line").last).to_be_in_viewport(ratio=1)
