"""Tabs stay in step, and nothing that one writes is lost: offline, or in a conflict."""

import re
import time
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from playwright.sync_api import Browser, BrowserContext, FloatRect, Locator, Page, Route, expect

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.operations import delete_memory
from tests.conftest import WebServer
from tests.factories import make_character, make_chat, make_memory, parsed
from tests.patience import PATIENCE

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

OLD = Guard(optional=True)


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, *[f"This is turn {number}." for number in range(12)], character=make_character(alice))


def device(browser: Browser, server: WebServer, user: User) -> BrowserContext:
    """A browser of its own, signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    context = browser.new_context(base_url=server.url)
    context.add_cookies([{"name": "sessionid", "value": session.session_key or "", "url": server.url}])
    return context


@pytest.fixture
def context(browser: Browser, web_server: WebServer, alice: User) -> Iterator[BrowserContext]:
    complaints: list[str] = []
    with device(browser, web_server, alice) as context:
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        yield context
    assert complaints == []


def open_chat(context: BrowserContext, chat: Chat, query: str = "") -> Page:
    """The chat in a new tab, once it follows what others write."""
    page = context.new_page()
    page.goto(f"/chats/{chat.pk}/{query}")
    expect(state(page)).to_have_text("Saved")
    return page


def turn(page: Page, index: int) -> Locator:
    return page.locator(f"#turn-{index}")


def state(page: Page) -> Locator:
    return page.locator("#sync-state [data-words]")


def edit(page: Page, index: int, text: str) -> None:
    turn(page, index).hover()
    turn(page, index).get_by_role("link", name="Edit").click()
    turn(page, index).get_by_role("textbox").fill(text)
    turn(page, index).get_by_role("button", name="Save").click()


def texts(chat: Chat) -> list[str]:
    return [row.mes for row in Message.objects.for_owner(chat.owner).filter(chat=chat).order_by("index")]


def test_two_tabs_stay_in_step(context: BrowserContext, chat: Chat):
    one, two = open_chat(context, chat), open_chat(context, chat)
    edit(one, 3, "This turn is *new*.")
    expect(turn(two, 3).locator(".prose em")).to_have_text("new")
    expect(turn(one, 3).locator(".prose em")).to_have_text("new")
    two.get_by_label("Your message").fill("Hello there")
    two.get_by_label("Your message").press("Control+Enter")
    expect(turn(one, 12)).to_contain_text("Hello there")
    expect(turn(two, 12)).to_contain_text("Hello there")
    expect(one.locator("[data-count]")).to_have_text("13 messages")
    two.goto(f"/chats/{chat.pk}/rename/")
    two.get_by_label("Title").fill("The $& quay")
    two.get_by_role("button", name="Save").click()
    expect(one.get_by_role("heading", level=1)).to_have_text("The $& quay")
    expect(one).to_have_title(re.compile(r"The \$& quay"))
    expect(one.locator("#unsent")).to_be_hidden()


def test_what_is_deleted_or_put_in_elsewhere_renumbers_the_page_and_leaves_an_editor_alone(
    context: BrowserContext, chat: Chat, alice: User
):
    page = open_chat(context, chat)
    turn(page, 8).hover()
    turn(page, 8).get_by_role("link", name="Edit").click()
    field = page.locator(".editor textarea")
    field.fill("Half a thought")
    patch_messages(alice, chat.pk, [Patch(index=2, delete=True)], OLD)
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    expect(turn(page, 2)).to_contain_text("This is turn 3.")
    expect(turn(page, 7).locator(".editor textarea")).to_have_value("Half a thought")
    expect(field).to_be_focused()
    patch_messages(alice, chat.pk, [Patch(index=0, insert_before=parsed("A prologue."))], OLD)
    expect(turn(page, 0)).to_contain_text("A prologue.")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Save").click()
    expect(turn(page, 8).locator(".prose")).to_have_text("Half a thought")
    expect(state(page)).to_have_text("Saved")
    assert texts(chat)[8] == "Half a thought"


def test_an_editor_stays_when_its_message_is_deleted_elsewhere(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat)
    turn(page, 8).hover()
    turn(page, 8).get_by_role("link", name="Edit").click()
    page.locator(".editor textarea").fill("Half a thought")
    patch_messages(alice, chat.pk, [Patch(index=8, delete=True)], OLD)
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    expect(page.locator(".editor textarea")).to_have_value("Half a thought")
    page.locator(".editor").get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="Half a thought")).to_be_visible()


def test_an_editor_stays_when_its_message_moves_out_of_the_window(context: BrowserContext, alice: User):
    texts = [f"This is turn {number}." for number in range(200)]
    chat = make_chat(alice, *texts, character=make_character(alice))
    page = open_chat(context, chat, "?at=20")
    last = page.locator("#messages .turn[data-id]").last
    last.hover()
    last.get_by_role("link", name="Edit").click()
    page.locator(".editor textarea").fill("Half a thought")
    patch_messages(alice, chat.pk, [Patch(index=0, insert_before=parsed("A prologue."))], OLD)
    expect(page.locator("[data-count]")).to_have_text("201 messages")
    expect(page.locator(".editor textarea")).to_have_value("Half a thought")


def test_a_window_asked_for_before_a_change_repeats_no_message(context: BrowserContext, alice: User):
    texts = [f"This is turn {number}." for number in range(200)]
    chat = make_chat(alice, *texts, character=make_character(alice))
    windows: list[Route] = []
    places: list[Route] = []
    context.route("**/window/?after=*", lambda route: windows.append(route))
    context.route("**/turns/?*", lambda route: places.append(route))
    page = open_chat(context, chat, "?at=20")
    last = page.locator("#messages .turn[data-id]").last
    last.hover()
    edited = page.locator(f".turn[data-id='{last.get_attribute('data-id')}']")
    edited.get_by_role("link", name="Edit").click()
    page.locator(".editor textarea").fill("Half a thought")
    patch_messages(alice, chat.pk, [Patch(index=0, insert_before=parsed("A prologue."))], OLD)
    wait_for(page, lambda: windows and places)
    windows[0].continue_()
    expect(page.locator("#messages .turn[data-index='75']")).to_be_attached()
    places[0].continue_()
    expect(page.locator("[data-count]")).to_have_text("201 messages")
    expect(edited).to_have_count(1)
    expect(edited.locator(".editor textarea")).to_have_value("Half a thought")
    indexes = page.locator("#messages .turn[data-id]").evaluate_all("turns => turns.map(turn => +turn.dataset.index)")
    assert indexes == list(range(indexes[0], indexes[0] + len(indexes)))


def test_a_window_that_is_newer_than_the_page_leaves_out_no_message(context: BrowserContext, alice: User):
    texts = [f"This is turn {number}." for number in range(100)]
    chat = make_chat(alice, *texts, character=make_character(alice))
    windows: list[Route] = []
    changes: list[Route] = []
    context.route("**/window/?before=*", lambda route: windows.append(route))
    context.route("**/changes/?*", lambda route: changes.append(route))
    page = open_chat(context, chat, "?at=20")
    wait_for(page, lambda: windows)
    changes[:] = []
    patch_messages(alice, chat.pk, [Patch(index=0, insert_before=parsed("A prologue."))], OLD)
    wait_for(page, lambda: changes)
    windows[0].continue_()
    expect(page.locator("#messages .turn[data-index='0']")).to_contain_text("A prologue.")
    for route in changes:
        route.continue_()
    expect(page.locator("[data-count]")).to_have_text("101 messages")
    expect(page.locator("#messages .turn[data-index='12']")).to_contain_text("This is turn 11.")
    shown = page.locator("#messages .turn[data-id]").evaluate_all("turns => turns.map(({dataset}) => +dataset.index)")
    assert shown == list(range(len(shown)))


def test_a_page_of_many_turns_keeps_all_of_them_when_one_is_deleted_elsewhere(context: BrowserContext, alice: User):
    chat = make_chat(alice, *[f"Turn {number}." for number in range(300)], character=make_character(alice))
    page = open_chat(context, chat)
    shown = page.locator("#messages .turn[data-id]")
    while shown.count() < 250:
        count = shown.count()
        page.locator("#scroller").evaluate("it => { it.scrollTop = 0; }")
        wait_for(page, lambda count=count: shown.count() > count)
    page.wait_for_load_state()
    first = int(shown.first.get_attribute("data-index") or 0)
    patch_messages(alice, chat.pk, [Patch(index=280, delete=True)], OLD)
    expect(page.locator("[data-count]")).to_have_text("299 messages")
    indexes = shown.evaluate_all("turns => turns.map(({dataset}) => +dataset.index)")
    assert indexes in [list(range(start, 299)) for start in range(first + 1)]


def wait_for(page: Page, holds: Callable[[], object]) -> None:
    """Wait until ``holds`` returns something true, while the page's events are treated."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


def test_edits_made_offline_survive_the_page_and_arrive_once(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat)
    context.set_offline(True)
    edit(page, 2, "Written on the train.")
    page.get_by_label("Your message").fill("And this too.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#unsent")).to_contain_text("And this too.")
    expect(state(page)).to_have_text("Offline: 2 changes wait on this device")
    page.close()
    context.set_offline(False)
    page = open_chat(context, chat)
    expect(turn(page, 2)).to_contain_text("Written on the train.")
    expect(turn(page, 12)).to_contain_text("And this too.")
    page.reload()
    expect(state(page)).to_have_text("Saved")
    assert texts(chat)[2] == "Written on the train."
    assert texts(chat)[12:] == ["And this too."]


def test_a_conflict_shows_both_texts_and_loses_neither(
    browser: Browser, web_server: WebServer, context: BrowserContext, chat: Chat, alice: User
):
    page = open_chat(context, chat)
    context.set_offline(True)
    edit(page, 2, "Mine.")
    edit(page, 4, "Mine too.")
    edit(page, 6, "Mine as well.")
    changes = [Patch({"mes": f"Theirs of {index}."}, index=index) for index in (2, 4, 6)]
    patch_messages(alice, chat.pk, changes, OLD)
    context.set_offline(False)
    for index, mine in ((2, "Mine."), (4, "Mine too."), (6, "Mine as well.")):
        panel = turn(page, index).get_by_role("alert")
        expect(panel.locator("[data-side=mine]")).to_contain_text(mine)
        expect(panel.locator("[data-side=theirs]")).to_contain_text(f"Theirs of {index}.")
    expect(state(page)).to_have_text("3 changes need your decision")
    turn(page, 2).get_by_role("button", name="Keep mine").click()
    expect(turn(page, 2).locator(".message .prose")).to_have_text("Mine.")
    turn(page, 4).get_by_role("button", name="Take theirs").click()
    expect(turn(page, 4).locator(".message .prose")).to_have_text("Theirs of 4.")
    page.reload()  # what nobody chose yet is still there
    turn(page, 6).get_by_text("Combine both texts", exact=True).click()
    turn(page, 6).get_by_label("Combined text").fill("Ours.")
    turn(page, 6).get_by_role("button", name="Save this text").click()
    expect(turn(page, 6).locator(".message .prose")).to_have_text("Ours.")
    expect(turn(page, 6).get_by_role("alert")).to_have_count(0)
    expect(state(page)).to_have_text("Saved")
    assert [texts(chat)[index] for index in (2, 4, 6)] == ["Mine.", "Theirs of 4.", "Ours."]


def test_a_text_whose_message_was_deleted_can_be_added_again(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat)
    context.set_offline(True)
    edit(page, 2, "Not for nothing.")
    patch_messages(alice, chat.pk, [Patch(index=2, delete=True)], OLD)
    context.set_offline(False)
    panel = page.locator("#troubles").get_by_role("alert")
    expect(panel).to_contain_text("Not for nothing.")
    panel.get_by_role("button", name="Add mine at the end").click()
    expect(turn(page, 11)).to_contain_text("Not for nothing.")
    expect(turn(page, 11).locator(".speaker")).to_have_text("Alice")
    expect(panel).to_have_count(0)


def test_what_is_refused_is_kept_with_the_reason(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat)
    problem = {"type": "/problems/validation", "title": "Not valid", "status": 400, "detail": "It is too long."}
    page.route("**/append/", lambda route: route.fulfill(status=400, json=problem))
    page.get_by_label("Your message").fill("A very long message")
    page.get_by_role("button", name="Send").click()
    panel = page.locator("#troubles").get_by_role("alert")
    expect(panel).to_contain_text("It is too long.")
    expect(panel).to_contain_text("A very long message")
    page.unroute("**/append/")
    panel.get_by_role("button", name="Try again").click()
    expect(turn(page, 12)).to_contain_text("A very long message")


def test_versions_hiding_and_deleting_go_the_same_way(context: BrowserContext, chat: Chat, alice: User):
    patch_messages(alice, chat.pk, [Patch(index=1, add_swipe=parsed("Another version.").swipes[0])], OLD)
    page = open_chat(context, chat)
    turn(page, 1).get_by_role("button", name="Previous version").click()
    expect(turn(page, 1).locator(".prose")).to_have_text("This is turn 1.")
    open_tools(page, 2)
    page.get_by_role("button", name="Hide from the prompt").click()
    expect(turn(page, 2)).to_contain_text("Hidden from the prompt")
    open_tools(page, 3)
    page.get_by_role("button", name="Delete the message").click()
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("[data-count]")).to_have_text("12 messages")
    expect(turn(page, 3)).to_contain_text("This is turn 3.")


def test_undo_after_a_deletion_brings_back_that_message_not_what_a_program_wrote(
    context: BrowserContext, chat: Chat, alice: User
):
    page = open_chat(context, chat)
    open_tools(page, 3)
    page.get_by_role("button", name="Delete the message").click()
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    patch_messages(alice, chat.pk, [Patch(index=5, extra={"seen": True})], OLD)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("[data-count]")).to_have_text("12 messages")
    expect(turn(page, 3)).to_contain_text("This is turn 3.")
    assert chat.messages.get(index=6).extra == {"seen": True}


def test_undo_after_a_deletion_waits_for_the_network(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat)
    before = texts(chat)
    turn(page, 3).hover()
    turn(page, 3).locator(".menu summary").first.click()
    turn(page, 3).get_by_role("button", name="Delete").first.click()
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    context.set_offline(True)
    page.get_by_role("button", name="Undo").click()
    context.set_offline(False)
    expect(page.locator("[data-count]")).to_have_text("12 messages")
    assert texts(chat) == before


def test_undo_after_a_deletion_says_why_it_can_not(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat)
    open_tools(page, 3)
    page.get_by_role("button", name="Delete the message").click()
    expect(page.locator("[data-count]")).to_have_text("11 messages")
    patch_messages(alice, chat.pk, [Patch(index=5, move_to=0)], OLD)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Message 3 stays deleted")).to_be_visible()
    assert chat.messages.count() == 11


def test_versions_are_written_and_chosen_in_place_by_keyboard(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat, "?at=3")
    message, prose = page.locator("#m-3"), turn(page, 3).locator(".prose")
    expect(message).to_be_focused()
    page.keyboard.press("ArrowRight")
    field = turn(page, 3).get_by_role("textbox")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(prose).to_have_text("This is turn 3.")
    expect(message).to_be_focused()
    page.keyboard.press("ArrowRight")
    field.fill("Another *version*.")
    field.press("Control+Enter")
    expect(turn(page, 3)).to_contain_text("2/2")
    expect(prose).to_have_text("Another version.")
    expect(message).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(prose).to_have_text("This is turn 3.")
    expect(message).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(prose).to_have_text("Another version.")
    open_tools(page, 5)
    page.get_by_role("link", name="Write another version …").click()
    turn(page, 5).get_by_role("textbox").fill("By the menu.")
    turn(page, 5).get_by_role("button", name="Save").click()
    expect(turn(page, 5)).to_contain_text("2/2")
    expect(turn(page, 5).locator(".prose")).to_have_text("By the menu.")
    assert page.url.endswith("?at=3")
    assert [texts(chat)[index] for index in (3, 5)] == ["Another *version*.", "By the menu."]


def test_what_the_server_fails_to_render_once_is_asked_for_again(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat)
    page.route("**/messages/*/", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(lambda response: response.status == 503):
        patch_messages(alice, chat.pk, [Patch(index=4, values={"mes": "Changed elsewhere."})], OLD)
    expect(turn(page, 4).locator(".prose")).to_have_text("Changed elsewhere.")


def test_the_message_in_focus_stays_so_when_all_turns_are_read_anew(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat, "?at=3")
    expect(page.locator("#m-3")).to_be_focused()
    changes = [Patch(index=3, values={"mes": "Changed elsewhere."}), Patch(index=1, delete=True)]
    patch_messages(alice, chat.pk, changes, OLD)
    expect(turn(page, 2).locator(".prose")).to_have_text("Changed elsewhere.")
    expect(page.locator("#m-2")).to_be_focused()


def test_a_message_is_left_out_of_memory_and_that_is_taken_back(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat)
    mark = turn(page, 2).get_by_text("Left out of memory")
    open_tools(page, 2)
    page.get_by_role("button", name="Leave out of memory").click()
    expect(mark).to_be_visible()
    assert Message.objects.for_owner(chat.owner).get(chat=chat, index=2).left_out
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(mark).to_have_count(0)
    open_tools(page, 2)
    page.get_by_role("button", name="Leave out of memory").click()
    expect(mark).to_be_visible()
    open_tools(page, 2)
    page.get_by_role("button", name="Take back into memory").click()
    expect(mark).to_have_count(0)
    assert not Message.objects.for_owner(chat.owner).get(chat=chat, index=2).left_out


def open_tools(page: Page, index: int) -> None:
    turn(page, index).hover()
    turn(page, index).locator("summary[aria-label='More actions for this message']").click()


def test_colours_and_text_size_are_those_of_ones_other_device(
    browser: Browser, web_server: WebServer, context: BrowserContext, chat: Chat, alice: User
):
    with device(browser, web_server, alice) as phone:
        there, here = open_chat(phone, chat), open_chat(context, chat)
        for choice in ("Dark", "Large text"):
            here.locator("summary[aria-label='Colours and text']").click()
            here.get_by_role("button", name=choice).click()
        for page in (here, there):
            expect(page.locator("html")).to_have_attribute("data-theme", "dark")
            expect(page.locator("html")).to_have_attribute("data-text-size", "large")
    page = context.new_page()
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-text-size", "large")


def test_what_was_not_sent_survives_a_reload_and_goes_once_it_is(context: BrowserContext, chat: Chat, alice: User):
    page = open_chat(context, chat)
    field = page.get_by_label("Your message")
    field.fill("Half a thought")
    page.reload()
    expect(field).to_have_value("Half a thought")
    other = open_chat(context, make_chat(alice, "Hello.", title="Another"))
    expect(other.get_by_label("Your message")).to_have_value("")
    page.get_by_role("button", name="Send").click()
    expect(turn(page, 12)).to_contain_text("Half a thought")
    page.reload()
    expect(turn(page, 12)).to_contain_text("Half a thought")
    expect(field).to_have_value("")


def test_each_tab_keeps_its_own_draft_and_the_next_one_takes_it_over(context: BrowserContext, chat: Chat):
    first, second = open_chat(context, chat), open_chat(context, chat)
    first.get_by_label("Your message").fill("A long letter")
    second.get_by_label("Your message").fill("Quick one")
    second.get_by_role("button", name="Send").click()
    expect(turn(first, 12)).to_contain_text("Quick one")
    first.reload()
    expect(first.get_by_label("Your message")).to_have_value("A long letter")
    first.close()
    third = open_chat(context, chat)
    expect(third.get_by_label("Your message")).to_have_value("A long letter")


def test_enter_sends_for_who_chose_it(context: BrowserContext, chat: Chat):
    page = open_chat(context, chat)
    field = page.get_by_label("Your message")
    field.fill("One")
    field.press("Enter")
    expect(field).to_have_value("One\n")
    settings = context.new_page()
    settings.goto("/settings/?open=writing")
    settings.get_by_role("button", name="begins a line").click()
    expect(page.locator("html")).to_have_attribute("data-send-key", "enter")
    field.fill("First line")
    field.press("Shift+Enter")
    field.press_sequentially("second line")
    field.press("Enter")
    expect(turn(page, 12).locator(".prose")).to_have_text("First line\nsecond line", use_inner_text=True)
    expect(field).to_have_value("")


def test_a_run_started_elsewhere_is_shown_with_its_result(context: BrowserContext, alice: User):
    texts = ("Where do you live?", "I live in Oslo with my sister Anna.", "Good to know.", "Yes.", "Well.")
    chat = make_chat(alice, *texts, character=make_character(alice))
    page = open_chat(context, chat)
    expect(page.locator("#run-progress")).to_be_attached()
    words = page.locator(".run-words")
    expect(words).to_have_count(0)
    run, _ = start_run(alice, chat)
    expect(words).to_contain_text("Waiting to read new messages")
    pipeline.execute(run.pk)
    expect(words).to_contain_text("kept")
    expect(page.locator(".rail")).to_contain_text("Oslo")


@pytest.mark.parametrize("width", [390, 1280])
def test_toasts_cover_no_control_and_menus_open_where_they_fit(context: BrowserContext, chat: Chat, width: int):
    page = open_chat(context, chat)
    page.set_viewport_size({"width": width, "height": 760})
    open_tools(page, 11)
    sheet = turn(page, 11).locator(".tools > .menu-sheet")
    remove = sheet.get_by_role("button", name="Delete the message")
    expect(remove).to_be_visible()
    scroller, opened = box(page.locator("#scroller")), box(sheet)
    assert scroller["y"] <= opened["y"]
    assert opened["y"] + opened["height"] <= scroller["y"] + scroller["height"]
    assert opened["x"] >= 0
    remove.click()
    toast = page.locator(".toast")
    expect(toast).to_be_visible()
    for other in (page.locator("#composer"), page.locator(".conversation-head"), page.locator("#scroller")):
        assert not overlap(box(toast), box(other))
    expect(turn(page, 10)).to_be_in_viewport()


def box(element: Locator) -> FloatRect:
    found = element.bounding_box()
    assert found is not None
    return found


def overlap(a: FloatRect, b: FloatRect) -> bool:
    beside = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    return not (beside or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"])


def test_who_writes_from_the_middle_of_a_chat_sees_what_he_wrote(context: BrowserContext, alice: User):
    chat = make_chat(alice, *[f"This is turn {number}. " * 9 for number in range(90)], character=make_character(alice))
    page = open_chat(context, chat, "?at=10")
    page.get_by_label("Your message").fill("Here I am.")
    page.get_by_label("Your message").press("Control+Enter")
    expect(turn(page, 90)).to_be_in_viewport()
    expect(page.locator("#new-below")).to_be_hidden()


def test_new_messages_leave_a_reader_in_his_place(context: BrowserContext, alice: User):
    chat = make_chat(alice, *[f"This is turn {number}. " * 30 for number in range(30)], character=make_character(alice))
    page = open_chat(context, chat, "?at=10")
    top = turn(page, 10).evaluate("turn => turn.getBoundingClientRect().top")
    append_messages(alice, chat.pk, [parsed("One more."), parsed("And another.")])
    pill = page.get_by_role("button", name="2 new messages")
    expect(pill).to_be_visible()
    assert turn(page, 10).evaluate("turn => turn.getBoundingClientRect().top") == pytest.approx(top, abs=2)
    pill.click()
    expect(turn(page, 31)).to_be_in_viewport()
    expect(pill).to_be_hidden()


def test_open_pages_show_that_a_memory_was_deleted_elsewhere(context: BrowserContext, chat: Chat) -> None:
    kept, gone = make_memory(chat, "Mira hums."), make_memory(chat, "Tom likes tea.", tier="session")
    listed, beside = context.new_page(), context.new_page()
    listed.goto("/memories/")
    listed.get_by_label("Choose “Tom likes tea.”").check()
    beside.goto(f"/chats/{chat.pk}/")
    expect(beside.locator(f"#memory-{gone.pk}")).to_be_attached()
    listed.wait_for_timeout(500)  # until the stream is open; what is missed before is read then, too
    delete_memory(gone)
    for page in (listed, beside):
        expect(page.locator(f"#memory-{gone.pk}")).to_contain_text("Forgotten elsewhere.")
        expect(page.locator(f"#memory-{kept.pk}")).to_contain_text("Mira hums.")
    expect(listed.get_by_label("Choose “Tom likes tea.”")).to_have_count(0)
    expect(listed.get_by_text("1 chosen")).to_have_count(0)
