"""A model in the browser: a function in a real page writes memories and replies, and another page takes over."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection as database
from django.test import override_settings
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.extraction.models import ExtractionRun
from apps.extraction.settings.stores import change_settings
from apps.extraction.tasks import settle_chat
from apps.llm.backends.selection import backend_for
from apps.llm.generation import Completion, GenerationRequest, PromptMessage
from apps.llm.models import BrowserCall, Connection
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Memory
from apps.replies.models import Generation
from apps.replies.operations import request_generation
from tests.conftest import WebServer
from tests.e2e.test_characters import signed_in
from tests.e2e.test_live_chat import device
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import QUIET
from tests.factories import make_character, make_chat
from tests.llm.scripted_server import Request
from tests.queues import working

__all__ = ["signed_in"]
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

PAGE = "/settings/models/browser/"
READY = "Ready. Keep this page open"
WRITING = "Your model is writing."
HANG = "loci.registerModel(() => new Promise(() => {}))"
WEB_LLM = """
export async function CreateMLCEngine(model, { initProgressCallback }, options) {
  initProgressCallback({ progress: 0.25, text: "" });
  await new Promise((resolve) => { window.finishLoading = resolve; });
  const create = async function* (request) {
    window.requests = [...(window.requests ?? []), { model, options, ...request }];
    yield { choices: [{ delta: { content: "Hel" } }] };
    yield { choices: [{ delta: { content: "lo." }, finish_reason: "length" }] };
    yield { choices: [], usage: { prompt_tokens: 11, completion_tokens: 2 } };
  };
  const completions = { create: async (request) => create(request) };
  return { chat: { completions }, interruptGenerate() {}, unload() { window.unloaded = true; } };
}
"""


def connected(owner: User) -> Connection:
    """A connection of the owner's to a model in the browser, in use."""
    connection = create_connection(owner, name="In the browser", backend="browser", model="tiny", timeout=60)
    use_for(connection, generation=True)
    return connection


def state(page: Page) -> Any:
    return page.locator(".browser-model [data-state]")


# With a real web server, and the tasks in a thread beside the page's events


@pytest.fixture
def alice(transactional_db: None) -> User:
    alice = User.objects.create_user("alice@example.com", "alice-password")
    connected(alice)
    change_settings(alice, QUIET)
    return alice


@pytest.fixture
def tabs(browser: Browser, web_server: WebServer, alice: User, chat: Chat) -> Iterator[BrowserContext]:
    with working("scheduled", "extraction", "models", "replies"), device(browser, web_server, alice) as tabs:
        yield tabs


@pytest.fixture
def chat(alice: User) -> Chat:
    turns = ("FACT(2): Mira lives in Port Salt.", "DETAIL(1): The key is made of brass.", "And now?")
    return make_chat(alice, *turns, character=make_character(alice))


def opened(tabs: BrowserContext) -> Page:
    page = tabs.new_page()
    page.goto(PAGE)
    return page


def tell_stories(page: Page) -> list[str]:
    """Register a function that answers as the storyteller does. Return the list of tasks that it has got."""
    tasks: list[str] = []

    def answer(request: dict[str, Any]) -> str:
        tasks.append(request["task"])
        if request["task"] == "reply":
            return "It is here."
        return storyteller.answer(Request(len(tasks), "POST", "/chat/completions", {}, b"", request))

    page.expose_function("answer", answer)
    page.evaluate("loci.registerModel(({ ...request }) => window.answer(request))")
    return tasks


def wait_for(page: Page, condition: Callable[[], Any], seconds: float = 90) -> None:
    """Wait while the page goes on."""
    for _ in range(int(seconds / 0.1)):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail("nothing happened")


def run_of(chat: Chat) -> ExtractionRun | None:
    return ExtractionRun.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-pk").first()


def is_remembered(chat: Chat) -> bool:
    run = run_of(chat)
    assert run is None or run.state != "failed", run.error
    return run is not None and run.state == "succeeded"


def test_a_run_waits_for_a_page_and_is_completed_by_its_function(tabs: BrowserContext, chat: Chat) -> None:
    page = opened(tabs)
    expect(state(page)).to_have_text("No page runs your model.")
    settle_chat.delay(chat_id=str(chat.pk))
    wait_for(page, lambda: (run := run_of(chat)) and run.waits_for == "server")
    tasks = tell_stories(page)
    wait_for(page, lambda: is_remembered(chat))
    assert {"session", "long_term"} <= set(tasks)
    texts = Memory.objects.for_owner(chat.owner_id).values_list("text", flat=True)
    assert {"Mira lives in Port Salt.", "The key is made of brass."} <= set(texts)
    expect(state(page)).to_have_text(re.compile(rf"{READY}.* {len(tasks)} replies so far\."))
    # A reply, for which a person waits.
    generation = request_generation(chat.owner_id, chat.pk, mode="reply")
    wait_for(page, lambda: Generation.objects.for_owner(chat.owner_id).get(pk=generation.pk).settled)
    last = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("-index").first()
    assert last is not None
    assert (last.mes, last.is_user) == ("It is here.", False)


def test_a_page_is_closed_half_way_and_another_one_takes_the_call_over(tabs: BrowserContext, chat: Chat) -> None:
    first, second = opened(tabs), opened(tabs)
    first.evaluate(HANG)
    expect(state(first)).to_contain_text(READY)
    settle_chat.delay(chat_id=str(chat.pk))
    expect(state(first)).to_contain_text(WRITING)
    [held] = BrowserCall.objects.for_owner(chat.owner_id).filter(state="claimed")
    tell_stories(second)
    expect(state(second)).to_contain_text(READY)
    first.wait_for_event("response", lambda response: response.url.endswith("/progress/"))  # which keeps its call
    held.refresh_from_db()
    page_of_first = held.claimed_by
    assert held.state == "claimed"  # by the first page, as long as it is open
    first.close()
    wait_for(second, lambda: is_remembered(chat))
    held.refresh_from_db()
    assert (held.state, held.claimed_by != page_of_first) == ("answered", True)


def test_a_page_whose_call_is_withdrawn_stops_and_takes_the_next(tabs: BrowserContext, chat: Chat) -> None:
    page = opened(tabs)
    page.evaluate("loci.registerModel((_, { signal }) => new Promise(() => { window.signal = signal; }))")
    generation = request_generation(chat.owner_id, chat.pk, mode="reply")
    expect(state(page)).to_contain_text(WRITING)
    page.request.post(
        f"/api/v1/generations/{generation.pk}/stop/", headers={"X-CSRFToken": token_of(tabs), "Referer": page.url}
    )
    wait_for(page, lambda: page.evaluate("window.signal.aborted"))
    expect(state(page)).to_contain_text(READY)


def token_of(tabs: BrowserContext) -> str:
    return next(cookie["value"] for cookie in tabs.cookies() if cookie["name"] == "csrftoken")


# The page


@pytest.fixture
def web_llm(tmp_path: Path) -> Iterator[Path]:
    """Where WebLLM is installed for this test."""
    (tmp_path / "vendor").mkdir()
    with override_settings(STATICFILES_DIRS=[*settings.STATICFILES_DIRS, tmp_path]):
        yield tmp_path / "vendor" / "web-llm.js"


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield executor


def asked(executor: ThreadPoolExecutor, *messages: PromptMessage) -> Future[Completion]:
    """A call of the model, made in a thread with a database connection of its own."""
    owner = User.objects.get()

    def work() -> Completion:
        try:
            return backend_for(owner).generate(GenerationRequest("greet", messages, max_tokens=50, stop=["END"]))
        finally:
            database.close()

    return executor.submit(work)


def reply_of(page: Page, future: Future[Completion]) -> Completion:
    wait_for(page, future.done)
    return future.result()


HELLO: PromptMessage = {"role": "user", "content": "Say hello."}


def test_a_model_is_chosen_on_the_page(signed_in: Page) -> None:
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/settings/models/")
    page.get_by_role("link", name="Run one in the browser").click()
    expect(page.get_by_text("While no page is open")).to_be_visible()
    page.get_by_label("Model", exact=True).fill("tiny")
    page.get_by_role("button", name="Use this model").click()
    expect(page.get_by_text("Saved. Load the model, and keep the page open.")).to_be_visible()
    expect(page.get_by_text("WebLLM is not installed here.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    connection = Connection.objects.for_owner(User.objects.get()).get()
    assert (connection.backend, connection.model, connection.for_generation) == ("browser", "tiny", True)
    page.get_by_label("Model", exact=True).fill("tinier")
    page.get_by_role("button", name="Save and use it").click()
    expect(page.get_by_role("heading", name="tinier")).to_be_visible()
    page.goto("/settings/models/")
    expect(page.get_by_text("an open page of your browser")).to_be_visible()


def test_web_llm_is_loaded_when_chosen_and_runs_the_calls(
    signed_in: Page, web_llm: Path, executor: ThreadPoolExecutor
) -> None:
    web_llm.write_text(WEB_LLM)
    page = signed_in
    connected(User.objects.get())
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.add_init_script("Object.defineProperty(navigator, 'gpu', { value: {} })")
    page.goto(PAGE)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert not any("web-llm.js" in url for url in loaded if "vendor" in url)
    page.get_by_role("button", name="Load the model").click()
    expect(state(page)).to_have_text("Loading the model: 25 %")
    expect(page.get_by_role("progressbar")).to_have_js_property("value", 0.25)
    page.evaluate("window.finishLoading()")
    expect(state(page)).to_contain_text(READY)
    expect(page.get_by_role("progressbar")).to_be_hidden()
    later: PromptMessage = {"role": "system", "content": "Later."}
    future = asked(executor, {"role": "system", "content": "First."}, HELLO, later)
    completion = reply_of(page, future)
    assert completion == Completion("Hello.", 11, 2, cut_off=True)
    [request] = page.evaluate("window.requests")
    assert request["messages"] == [
        {"role": "system", "content": "First."},
        HELLO,
        {"role": "user", "content": "Later."},
    ]
    assert (request["model"], request["options"], request["stop"]) == ("tiny", {"context_window_size": 8192}, ["END"])
    page.get_by_role("button", name="Stop").click()
    expect(state(page)).to_contain_text("Stopped.")
    assert page.evaluate("window.unloaded")


def test_a_browser_without_web_gpu_says_so(signed_in: Page, web_llm: Path) -> None:
    web_llm.write_text("throw new Error('broken')")
    page = signed_in
    connected(User.objects.get())
    page.add_init_script("Object.defineProperty(navigator, 'gpu', { value: undefined, writable: true })")
    page.goto(PAGE)
    page.get_by_role("button", name="Load the model").click()
    expect(state(page)).to_contain_text("it has no WebGPU")
    page.evaluate("navigator.gpu = {}")
    page.get_by_role("button", name="Load the model").click()
    expect(state(page)).to_have_text("The model can't be loaded. broken")


def test_a_reply_that_is_lost_on_the_way_is_posted_again(signed_in: Page, executor: ThreadPoolExecutor) -> None:
    page = signed_in
    connected(User.objects.get())
    sent: list[str] = []

    def lose(route: Route) -> None:
        sent.append(route.request.url)
        if len(sent) == 1:
            route.abort()
        elif len(sent) == 2:
            route.fetch()  # it arrives, and the answer to it is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/reply/", lose)
    page.goto(PAGE)
    page.evaluate("loci.registerModel(() => 'Hello.')")
    expect(state(page)).to_contain_text(READY)
    assert reply_of(page, asked(executor, HELLO)).text == "Hello."
    expect(state(page)).to_contain_text("1 reply so far.")
    assert len(sent) == 3


def test_an_error_of_the_function_is_told(signed_in: Page, executor: ThreadPoolExecutor) -> None:
    page = signed_in
    connected(User.objects.get())
    page.goto(PAGE)
    page.evaluate("loci.registerModel(() => { throw Object.assign(new Error('Too long.'), { refused: true }) })")
    expect(state(page)).to_contain_text(READY)
    future = asked(executor, HELLO)
    wait_for(page, future.done)
    failure: Any = future.exception()
    assert (failure.kind, failure.detail) == ("refused", "The page could not run the model. It says: Too long.")


def test_who_signs_out_elsewhere_is_told_with_the_next_call(signed_in: Page, executor: ThreadPoolExecutor) -> None:
    page = signed_in
    connected(User.objects.get())
    page.goto(PAGE)
    page.evaluate("loci.registerModel(() => 'Hello.')")
    expect(state(page)).to_contain_text(READY)
    Session.objects.all().delete()
    future = asked(executor, HELLO)
    expect(state(page)).to_contain_text("Stopped: you have been signed out.")
    Connection.objects.for_owner(User.objects.get()).update(page_seen_at=None)
    wait_for(page, future.done)
    assert "No page runs your model" in str(future.exception())


def test_a_stream_that_is_refused_is_asked_for_again(signed_in: Page, executor: ThreadPoolExecutor) -> None:
    """As by a proxy while the server behind it starts again."""
    page = signed_in
    connected(User.objects.get())
    tries: list[Route] = []

    def refuse(route: Route) -> None:
        tries.append(route)
        if len(tries) == 1:
            route.fulfill(status=502)
        elif len(tries) > 2:
            route.continue_()

    page.route("**/browser-calls/events/*", refuse)
    page.clock.install()
    page.goto(PAGE)
    page.evaluate("loci.registerModel(() => 'Hello.')")
    wait_for(page, lambda: page.clock.fast_forward(1000) or len(tries) > 1)
    expect(state(page)).to_contain_text("Loci can't be reached")
    tries[1].continue_()
    expect(state(page)).to_contain_text(READY)
    assert reply_of(page, asked(executor, HELLO)).text == "Hello."


SILENT_SOURCE = """
window.opened = [];
window.EventSource = class extends EventTarget {
  static OPEN = 1; static CLOSED = 2; readyState = 1;
  constructor(url) { super(); window.opened.push(this); }
  close() { this.readyState = 2; }
};
"""


def test_a_stream_that_went_silent_is_opened_again(signed_in: Page) -> None:
    """As after the machine's sleep, in which the other end may be lost without a word."""
    page = signed_in
    connected(User.objects.get())
    page.clock.install()
    page.add_init_script(SILENT_SOURCE)
    page.goto(PAGE)
    page.evaluate("loci.registerModel(() => 'Hello.')")
    before = page.evaluate("window.opened.length")
    page.clock.fast_forward(15_000)
    assert page.evaluate("window.opened.length") == before
    page.clock.fast_forward(20_000)
    assert page.evaluate("window.opened.length") > before
    assert page.evaluate("window.opened.at(-1).readyState") == 1
    page.get_by_role("button", name="Stop").click()
    stopped = page.evaluate("window.opened.length")
    page.clock.fast_forward(60_000)
    assert page.evaluate("window.opened.length") == stopped
