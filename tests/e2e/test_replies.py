"""Replies on the chat page, with a real web server and a scripted model."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import add_participant
from apps.replies.models import Generation
from tests.conftest import WebServer
from tests.e2e.test_live_chat import device, state, turn, wait_for
from tests.factories import make_character, make_chat
from tests.lanes import further
from tests.llm.conftest import connect, server  # noqa: F401
from tests.llm.scripted_server import Reply, ScriptedServer
from tests.queues import working

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

STORY = " ".join(f"Step {number} goes down." for number in range(600))
PACE = 0.3  # seconds between two lines or so: a test goes on as soon as it has seen what it looks for
TIMEOUT = 3  # seconds in which a model has to say something
LINE = 55  # characters, which end within a word


def slow() -> Reply:
    """A reply that takes a minute, unless it is told to hurry."""
    return Reply(STORY, pace=PACE, piece=LINE)


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is the well?", "Over there.", character=make_character(alice))


@pytest.fixture
def context(
    browser: Browser,
    web_server: WebServer,
    alice: User,
    connect,  # noqa: F811
) -> Iterator[BrowserContext]:
    connect(timeout=TIMEOUT)
    with working("replies"), device(browser, web_server, alice) as context:
        yield context


def open_chat(context: BrowserContext, chat: Chat) -> Page:
    page = context.new_page()
    page.goto(f"/chats/{chat.pk}/")
    expect(state(page)).to_have_text("Saved")
    expect(page.locator(".replies")).to_be_visible()
    return page


def send(page: Page, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.get_by_role("button", name="Send").click()


def expect_coming(page: Page, index: int) -> None:
    expect(page.locator(".replies")).to_contain_text("Mira is writing")
    expect(page.locator("#reply-status")).to_have_text("Mira is writing …")
    expect(turn(page, index).locator(".prose")).to_contain_text("Step 1 goes")
    expect(turn(page, index).get_by_text("Being written")).to_be_visible()
    expect(turn(page, index).get_by_text("Incomplete")).to_have_count(0)


def expect_whole(page: Page, index: int) -> None:
    expect(turn(page, index).locator(".prose")).to_have_text(STORY)
    expect(turn(page, index).get_by_text("Incomplete")).to_have_count(0)
    expect(turn(page, index).get_by_text("Being written")).to_have_count(0)
    expect(page.get_by_role("button", name="Another reply")).to_be_visible()


def test_sending_streams_a_reply_that_survives_the_tab(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    reply = slow()
    server.reply_with(reply)
    page, other = open_chat(context, chat), open_chat(context, chat)
    send(page, "Show me.")
    for tab in (page, other):
        expect_coming(tab, 3)
    page.close()
    page = open_chat(context, chat)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    reply.hurry.set()
    expect_whole(page, 3)
    expect_whole(other, 3)
    assert Generation.objects.for_owner(chat.owner_id).get().state == "succeeded"
    assert chat.messages.get(index=3).mes == STORY


def test_a_reply_has_its_marks_rendered_while_it_comes_and_once_it_is_complete(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    reply = Reply(text="*She nods.* " * 900, pace=PACE, piece=LINE)
    server.reply_with(reply)
    page = open_chat(context, chat)
    send(page, "Show me.")
    expect(turn(page, 3).locator(".prose em").nth(1)).to_be_visible()
    expect(turn(page, 3).get_by_text("Being written")).to_be_visible()
    expect(turn(page, 3).locator(".prose")).not_to_contain_text("*")
    reply.hurry.set()
    expect(page.get_by_role("button", name="Another reply")).to_be_visible()
    expect(turn(page, 3).locator(".prose em")).to_have_count(900)
    expect(turn(page, 3).locator(".prose")).not_to_contain_text("*")


def test_stop_swipe_continue_and_impersonate(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    server.reply_with(slow(), "Down", " the stairs.", "I follow her.")
    page = open_chat(context, chat)
    send(page, "Show me.")
    expect(turn(page, 3).locator(".prose")).to_contain_text("Step")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".replies").get_by_text("The reply was stopped.")).to_be_visible()
    expect(turn(page, 3).get_by_text("Incomplete")).to_be_visible()
    page.get_by_role("button", name="Another reply").click()
    expect(turn(page, 3).locator(".prose")).to_have_text("Down")
    expect(turn(page, 3)).to_contain_text("2/2")
    page.get_by_role("button", name="Continue").click()
    expect(turn(page, 3).locator(".prose")).to_have_text("Down the stairs.")
    page.get_by_role("button", name="Write for me").click()
    expect(page.get_by_label("Your message")).to_have_value("I follow her.")
    expect(page.locator("[data-written]")).to_be_hidden()
    assert chat.messages.count() == 4


def test_a_continuation_is_set_off_while_it_comes(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    server.reply_with(slow())
    page = open_chat(context, chat)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(turn(page, 1).locator(".prose")).to_have_text(re.compile(r"^Over there\. Step 0 goes down\. Step"))
    assert Generation.objects.for_owner(chat.owner_id).get().state == "running"
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".replies").get_by_text("The reply was stopped.")).to_be_visible()


def test_the_right_arrow_after_the_last_version_asks_for_another_reply(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    server.reply_with("Down the stairs.", "Up the stairs.")
    page = open_chat(context, chat)
    send(page, "Where to?")
    expect(turn(page, 3).locator(".prose")).to_have_text("Down the stairs.")
    expect(page.get_by_role("button", name="Another reply")).to_be_visible()
    turn(page, 3).locator(".message").focus()
    page.keyboard.press("ArrowRight")
    expect(turn(page, 3).locator(".prose")).to_have_text("Up the stairs.")
    expect(turn(page, 3).locator(".swipes")).to_contain_text("2/2")


def test_an_edited_turn_is_saved_and_answered_again(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    server.reply_with("Down the stairs.", "To the cellar.")
    page = open_chat(context, chat)
    send(page, "Where to?")
    expect(turn(page, 3).locator(".prose")).to_have_text("Down the stairs.")
    expect(page.get_by_role("button", name="Another reply")).to_be_visible()
    turn(page, 0).get_by_label("Edit this message").click()
    expect(turn(page, 0).get_by_role("button", name="Save", exact=True)).to_be_visible()
    expect(turn(page, 0).get_by_role("button", name="Save and reply again")).to_be_hidden()
    turn(page, 2).get_by_label("Edit this message").click()
    turn(page, 2).locator("textarea").fill("Where is the cellar?")
    turn(page, 2).get_by_role("button", name="Save and reply again").click()
    expect(turn(page, 3).locator(".prose")).to_have_text("To the cellar.")
    expect(turn(page, 3).locator(".swipes")).to_contain_text("2/2")
    assert server.of_kind("generation")[-1].messages[-1]["content"] == "Where is the cellar?"


def test_a_model_that_is_silent_is_waited_for(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    reply = Reply("Late.", delay=TIMEOUT * 0.9)
    server.reply_with(reply)
    page = open_chat(context, chat)
    send(page, "Where to?")
    expect(page.locator(".replies")).to_contain_text("Waiting for the model")
    reply.hurry.set()
    expect(turn(page, 3).locator(".prose")).to_have_text("Late.")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("Wrong key.", status=401), "Your message is kept."),
        further((Reply(STORY, stall_after=4), "The text received so far is kept.")),
        (Reply(STORY, break_after=4), "The text received so far is kept."),
        further(
            (
                Reply(
                    raw=b'data: {"choices": [{"index": 0, "delta": {"content": "Step"}}]}\n\n'
                    b'data: {"error": {"message": "Overloaded."}}\n\n',
                    content_type="text/event-stream",
                ),
                "Overloaded",
            )
        ),
    ],
    ids=["401", "hang", "drop", "error in the stream"],
)
def test_a_failure_says_why_keeps_the_turn_and_can_be_tried_again(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
    reply: Reply,
    reason: str,
):
    server.reply_with(reply, "Here it is.")
    page = open_chat(context, chat)
    send(page, "Show me.")
    panel = page.locator(".replies")
    expect(panel).to_contain_text("The reply failed.")
    expect(panel).to_contain_text(reason)
    expect(turn(page, 2)).to_contain_text("Show me.")
    panel.get_by_role("button", name="Try again").click()
    expect(turn(page, 3).locator(".prose")).to_have_text("Here it is.")


def test_a_message_sent_while_a_reply_is_written_is_answered_after_it_and_once(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    """The tab that sent it may be closed."""
    reply = slow()
    server.reply_with(reply, "Behind the well.")
    page, other = open_chat(context, chat), open_chat(context, chat)
    send(page, "Where to?")
    expect(turn(other, 3).locator(".prose")).to_contain_text("Step")
    with other.expect_response(lambda response: "/replies/" in response.url and response.request.method == "POST"):
        send(other, "And the key?")
    other.close()
    expect(turn(page, 4).locator(".prose")).to_have_text("And the key?")
    reply.hurry.set()
    expect(turn(page, 3).locator(".prose")).to_have_text(STORY)
    expect(turn(page, 5).locator(".prose")).to_have_text("Behind the well.")
    expect(page.get_by_role("button", name="Another reply")).to_be_visible()
    assert Generation.objects.for_owner(chat.owner_id).count() == 2


def test_a_message_sent_while_a_reply_is_written_that_is_stopped_waits_for_the_user(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,  # noqa: F811
):
    server.reply_with(slow(), "Behind the well.")
    page = open_chat(context, chat)
    send(page, "Where to?")
    expect(turn(page, 3).locator(".prose")).to_contain_text("Step")
    held: list[Route] = []
    page.route("**/append/", lambda route: held.append(route))  # so that it is stopped before the message is stored
    send(page, "And the key?")
    wait_for(page, lambda: held)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".replies").get_by_text("The reply was stopped.")).to_be_visible()
    with page.expect_response(lambda response: "/replies/" in response.url and response.request.method == "POST"):
        held[0].continue_()
    expect(turn(page, 4).locator(".prose")).to_have_text("And the key?")
    expect(page.get_by_role("button", name="Reply", exact=True)).to_be_visible()
    assert Generation.objects.for_owner(chat.owner_id).get().state == "cancelled"


def test_in_a_group_one_chooses_who_replies(
    context: BrowserContext,
    chat: Chat,
    alice: User,
    server: ScriptedServer,  # noqa: F811
):
    add_participant(alice, chat.pk, name="Mira", character=chat.character)
    add_participant(alice, chat.pk, name="Salt", character=make_character(alice, name="Salt"))
    page = open_chat(context, chat)
    page.get_by_label("Who replies").select_option(label="Salt")
    page.get_by_role("button", name="Reply", exact=True).click()
    expect(turn(page, 2)).to_contain_text("Salt")
    expect(turn(page, 2).locator(".prose")).to_have_text("Hello.")
