"""Calls of a model in the browser: who runs them, who waits for them, and what becomes of them if either is gone."""

import asyncio
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db import connection as database
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.problems import Invalid
from apps.llm.backends import browser
from apps.llm.backends.connection_check import check_connection
from apps.llm.backends.selection import backend_for, backend_on
from apps.llm.browser import calls, streams
from apps.llm.generation import (
    Completion,
    GenerationRequest,
    LimitReached,
    Misconfigured,
    Refused,
    TransientFailure,
)
from apps.llm.models import BrowserCall, Connection, Usage
from apps.llm.operations import create_connection, delete_connection, set_daily_limit, update_connection, use_for
from apps.llm.signals import generation_changed
from tests.coroutines import in_thread
from tests.factories import UserFactory
from tests.llm.test_calls import Cancelled
from tests.prompts.conftest import client_of

pytestmark = pytest.mark.django_db(transaction=True)
REQUEST = GenerationRequest("greet", [{"role": "user", "content": "Say hello."}], max_tokens=50, stop=["END"])
PAGE, OTHER_PAGE = uuid4(), uuid4()
State = BrowserCall.State


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "POLL_INTERVAL", 0.02)
    monkeypatch.setattr(browser, "WATCH_INTERVAL", 0.05)


@pytest.fixture
def connection(alice: User) -> Connection:
    """A connection of Alice's to a model in the browser, with an open page."""
    connection = create_connection(alice, name="Here", backend="browser", model="tiny", timeout=30)
    use_for(connection, generation=True)
    calls.mark_page_open(alice)
    return connection


@pytest.fixture
def generate(connection: Connection) -> Iterator[Callable[..., Any]]:
    """A function that makes a call in a thread with a database connection of its own, and returns its future."""
    with ThreadPoolExecutor(max_workers=4) as executor:

        def work(is_urgent: bool, **options: Any) -> Completion:
            try:
                stored = Connection.objects.for_owner(connection.owner_id).get(pk=connection.pk)
                return backend_on(stored, is_urgent=is_urgent).generate(REQUEST, **options)
            finally:
                database.close()

        yield lambda is_urgent=True, **options: executor.submit(work, is_urgent, **options)


def claimed(owner: User, page: UUID = PAGE, seconds: float = 20) -> BrowserCall:
    """The call that a page claims as soon as there is one."""
    deadline = time.monotonic() + seconds
    while (call := calls.claim_call(owner, page)) is None:
        assert time.monotonic() < deadline, "there is no call"
        time.sleep(0.02)
    return call


def queued(connection: Connection, is_urgent: bool = False) -> BrowserCall:
    return calls.create_call(connection, REQUEST, is_urgent=is_urgent)


def let_lapse(call: BrowserCall, column: str = "claimed_until") -> None:
    past = timezone.now() - dt.timedelta(seconds=1)
    BrowserCall.objects.for_owner(call.owner_id).filter(pk=call.pk).update(**{column: past})


def test_a_page_gets_the_call_and_its_reply_comes_back(alice, generate):
    future = generate()
    call = claimed(alice)
    assert call.request == {
        "task": "greet",
        "model": "tiny",
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 50,
        "temperature": 0.0,
        "top_p": None,
        "top_k": None,
        "min_p": None,
        "repetition_penalty": None,
        "stop": ["END"],
        "extra_body": {},
    }
    calls.answer_call(alice, call.pk, PAGE, text="<think>Hm.</think>Hello.", prompt_tokens=7, completion_tokens=3)
    assert future.result(60) == Completion("Hello.", 7, 3, reasoning="Hm.")
    usage = Usage.objects.for_owner(alice).get()
    assert (usage.model, usage.calls, usage.prompt_tokens, usage.completion_tokens) == ("tiny", 1, 7, 3)
    call.refresh_from_db()
    assert (call.state, call.request, call.text) == ("answered", {}, "")


def test_tokens_that_the_page_did_not_count_are_counted_here(alice, generate):
    future = generate()
    calls.answer_call(alice, claimed(alice).pk, PAGE, text="Hello.", cut_off=True)
    completion = future.result(60)
    assert (completion.prompt_tokens, completion.completion_tokens, completion.cut_off) == (3, 2, True)


def test_the_listener_gets_the_text_while_it_comes(alice, generate):
    heard: list[str] = []
    future = generate(listener=heard.append)
    call = claimed(alice)
    for text in ("<think>Hm.", "<think>Hm.</think>Hel"):
        calls.record_progress(alice, call.pk, PAGE, text)
        time.sleep(0.3)
    calls.answer_call(alice, call.pk, PAGE, text="Hello.")
    future.result(60)
    assert "Hel" in heard
    assert not any("Hm." in text for text in heard)


def test_without_a_page_a_call_fails_at_once_and_not_for_ever(alice, connection, generate):
    Connection.objects.for_owner(alice).update(page_seen_at=timezone.now() - calls.PRESENCE)
    started = time.monotonic()
    with pytest.raises(TransientFailure, match="No page runs your model"):
        generate().result(60)
    assert time.monotonic() - started < 5
    assert calls.claim_call(alice, PAGE) is None


def test_the_page_closes_before_it_has_claimed_anything(alice, connection, generate):
    future = generate()
    while not calls.claimable_calls(alice).exists():
        time.sleep(0.02)
    Connection.objects.for_owner(alice).update(page_seen_at=timezone.now() - calls.PRESENCE)
    with pytest.raises(TransientFailure, match="No page runs your model"):
        future.result(60)


def test_a_page_that_opens_announces_that_calls_may_succeed(alice, connection):
    announced: list[object] = []

    def receive(owner_id: UUID, **kwargs: Any) -> None:
        announced.append(owner_id)

    generation_changed.connect(receive)
    try:
        calls.mark_page_open(alice)
        assert announced == []  # one is open already
        Connection.objects.for_owner(alice).update(page_seen_at=timezone.now() - calls.PRESENCE)
        calls.mark_page_open(alice)
    finally:
        generation_changed.disconnect(receive)
    assert announced == [alice.pk]


def test_a_silent_page_is_waited_for_until_the_timeout(alice, connection, generate):
    Connection.objects.for_owner(alice).update(timeout=1)
    future = generate()
    call = claimed(alice)
    calls.record_progress(alice, call.pk, PAGE, "Hel")
    with pytest.raises(TransientFailure, match="silent for 1 seconds") as raised:
        future.result(60)
    assert raised.value.partial == "Hel"
    with pytest.raises(calls.CallLost):
        calls.answer_call(alice, call.pk, PAGE, text="Hello.")  # too late


def test_a_cancelled_call_is_withdrawn_and_its_page_told_to_stop(alice, generate):
    cancelled = threading.Event()

    def watch() -> None:
        if cancelled.is_set():
            raise Cancelled

    future = generate(watch=watch)
    call = claimed(alice)
    cancelled.set()
    with pytest.raises(Cancelled):
        future.result(60)
    with pytest.raises(calls.CallLost):
        calls.record_progress(alice, call.pk, PAGE, "Hel")
    assert calls.claim_call(alice, PAGE) is None


@pytest.mark.parametrize(("refused", "failure"), [(True, Refused), (False, TransientFailure)])
def test_an_error_of_the_page_is_a_failure_of_the_call(alice, generate, refused, failure):
    future = generate()
    call = claimed(alice)
    for _ in range(2):  # a repetition changes nothing
        calls.fail_call(alice, call.pk, PAGE, error="Out of memory.", refused=refused)
    with pytest.raises(failure, match="Out of memory"):
        future.result(60)


def test_a_call_whose_process_died_is_not_claimed(alice, connection):
    call = queued(connection)
    let_lapse(call, "awaited_until")
    assert calls.claim_call(alice, PAGE) is None
    assert BrowserCall.objects.for_owner(alice).get().state == State.WITHDRAWN


def test_a_page_whose_call_is_awaited_no_more_gets_another(alice, connection):
    dead, other = queued(connection), queued(connection)
    assert claimed(alice).pk == dead.pk
    let_lapse(dead, "awaited_until")
    assert claimed(alice).pk == other.pk
    with pytest.raises(calls.CallLost):
        calls.record_progress(alice, dead.pk, PAGE, None)


def test_two_pages_never_run_the_same_call(alice, connection):
    made = {queued(connection).pk for _ in range(6)}
    barrier = threading.Barrier(6)

    def claim(page: UUID) -> UUID:
        try:
            barrier.wait()
            return claimed(alice, page).pk
        finally:
            database.close()

    with ThreadPoolExecutor(max_workers=6) as executor:
        assert set(executor.map(claim, [uuid4() for _ in range(6)])) == made


def test_a_repeated_claim_gets_the_same_call(alice, connection):
    first, _ = queued(connection), queued(connection)
    barrier = threading.Barrier(4)

    def claim(_: int) -> UUID:
        try:
            barrier.wait()
            return claimed(alice).pk
        finally:
            database.close()

    with ThreadPoolExecutor(max_workers=4) as executor:
        assert set(executor.map(claim, range(4))) == {first.pk}


def test_the_database_keeps_one_call_a_page(alice, connection):
    queued(connection), queued(connection)
    until = timezone.now()
    with pytest.raises(IntegrityError), transaction.atomic():
        BrowserCall.objects.for_owner(alice).update(state="claimed", claimed_by=PAGE, claimed_until=until)
    for fields in ({"state": "lost"}, {"state": "claimed"}, {"state": "answered"}, {"claimed_by": PAGE}):
        with pytest.raises(IntegrityError), transaction.atomic():
            BrowserCall.objects.for_owner(alice).update(**fields)


def test_urgent_calls_come_first_then_the_oldest(alice, connection):
    oldest, _, urgent = queued(connection), queued(connection), queued(connection, is_urgent=True)
    assert claimed(alice).pk == urgent.pk
    assert claimed(alice, OTHER_PAGE).pk == oldest.pk


def test_a_call_of_a_closed_page_goes_to_another_one_and_the_first_is_told(alice, generate):
    future = generate()
    call = claimed(alice)
    calls.record_progress(alice, call.pk, PAGE, "Hel")
    assert calls.claim_call(alice, OTHER_PAGE) is None
    let_lapse(call)
    again = claimed(alice, OTHER_PAGE)
    assert (again.pk, again.text) == (call.pk, "")
    for action in (
        lambda: calls.record_progress(alice, call.pk, PAGE, "Hello"),
        lambda: calls.answer_call(alice, call.pk, PAGE, text="Hello of the first."),
    ):
        with pytest.raises(calls.CallLost):
            action()
    calls.answer_call(alice, call.pk, OTHER_PAGE, text="Hello of the second.")
    assert future.result(60).text == "Hello of the second."


def test_a_page_that_comes_back_in_time_keeps_its_call(alice, connection):
    call = queued(connection)
    claimed(alice)
    calls.release_calls(alice, PAGE)
    call.refresh_from_db()
    assert call.claimed_until < timezone.now() + calls.GRACE
    calls.record_progress(alice, call.pk, PAGE, None)
    call.refresh_from_db()
    assert call.claimed_until > timezone.now() + calls.GRACE


def test_a_late_reply_counts_as_long_as_nobody_else_has_the_call(alice, generate):
    future = generate()
    call = claimed(alice)
    let_lapse(call)
    calls.answer_call(alice, call.pk, PAGE, text="Hello.")
    assert future.result(60).text == "Hello."


def test_a_repeated_reply_changes_nothing(alice, generate):
    future = generate()
    call = claimed(alice)
    calls.answer_call(alice, call.pk, PAGE, text="Hello.")
    assert future.result(60).text == "Hello."
    calls.answer_call(alice, call.pk, PAGE, text="Something else.")
    call.refresh_from_db()
    assert (call.state, call.text) == ("answered", "")
    with pytest.raises(calls.CallLost):
        calls.answer_call(alice, call.pk, OTHER_PAGE, text="Hello.")


def test_background_calls_wait_for_a_place(alice, generate):
    first, second = generate(is_urgent=False), generate(is_urgent=False)
    call = claimed(alice)
    time.sleep(0.5)
    assert not calls.claimable_calls(alice).exists()
    calls.answer_call(alice, call.pk, PAGE, text="One.")
    calls.answer_call(alice, claimed(alice).pk, PAGE, text="Two.")
    assert {first.result(60).text, second.result(20).text} == {"One.", "Two."}


def test_a_deleted_connection_ends_the_call(alice, connection, generate):
    future = generate()
    claimed(alice)
    delete_connection(connection)
    with pytest.raises(Misconfigured, match="deleted"):
        future.result(60)


def test_a_connection_that_is_deleted_before_the_call_is_no_error_of_ours(alice, connection):
    backend = backend_on(connection, is_urgent=True)
    Connection.objects.for_owner(alice).delete()
    with pytest.raises(Misconfigured, match="deleted"):
        backend.generate(REQUEST)


def test_the_daily_limit_holds(alice, connection):
    set_daily_limit(alice, 0)
    with pytest.raises(LimitReached):
        backend_for(alice).generate(REQUEST)


def test_a_huge_reply_is_cut_and_odd_characters_are_dropped(alice, generate):
    future = generate()
    calls.answer_call(alice, claimed(alice).pk, PAGE, text="a\x00\ud800" + "b" * 300_000)
    assert future.result(60).text == "a" + "b" * 199_999


def test_old_calls_are_deleted_with_the_next_one(alice, connection):
    old = queued(connection)
    BrowserCall.objects.for_owner(alice).update(awaited_until=timezone.now() - calls.KEPT)
    new = queued(connection)
    assert list(BrowserCall.objects.for_owner(alice)) == [new] != [old]


# Connections


def test_a_test_of_the_connection_says_that_no_page_is_open(alice, connection):
    Connection.objects.for_owner(alice).update(page_seen_at=None)
    check = check_connection(connection)
    assert (check.ok, check.error) == (False, browser.NO_PAGE)


def test_there_is_one_connection_to_the_browser(alice, connection):
    with pytest.raises(Invalid) as raised:
        create_connection(alice, name="Again", backend="browser")
    assert [error.pointer for error in raised.value.errors] == ["/backend"]
    create_connection(UserFactory(), name="Here", backend="browser")


@pytest.mark.parametrize(
    ("field", "value"),
    [("base_url", "http://127.0.0.1:9"), ("embedding_model", "x"), ("api_key", "sk-1"), ("backend", "ollama")],
)
def test_a_model_in_the_browser_has_nothing_of_a_server(alice, connection, field, value):
    with pytest.raises(Invalid) as raised:
        update_connection(connection, **{field: value})
    assert [error.pointer for error in raised.value.errors] == [f"/{field}"]


def test_the_api_makes_a_connection_without_an_address(alice):
    api = client_of(alice)
    reply = api.post("/api/v1/connections/", {"name": "Here", "backend": "browser", "model": "tiny"})
    assert (reply.status_code, reply.json()["base_url"], reply.json()["parallel_calls"]) == (201, "", 1)
    reply = api.post("/api/v1/connections/", {"name": "There", "backend": "openai"})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/base_url")


def test_the_page_runs_nothing_before_a_model_is_chosen(alice, client):
    client.force_login(alice)
    url = "/settings/models/browser/"
    create_connection(alice, name="Here", backend="browser")
    assert "data-model" not in client.get(url).content.decode()
    assert client.post(url, {"model": "", "context_tokens": "0", "timeout": "x"}).status_code == 400
    assert client.post(url, {"model": "tiny", "context_tokens": "4096", "timeout": "600"}).status_code == 302
    reply = client.get(url)
    assert 'data-model="tiny"' in reply.content.decode()
    assert "'wasm-unsafe-eval'" in reply["Content-Security-Policy"]
    assert "wasm" not in client.get("/settings/models/")["Content-Security-Policy"]


# The API of pages


@pytest.fixture
def api(alice: User) -> APIClient:
    return client_of(alice)


def test_a_call_over_the_api(alice, api, generate):
    assert api.post("/api/v1/browser-calls/claim/", {"page": str(PAGE)}).status_code == 204
    future = generate()
    claimed(alice)
    call = api.post("/api/v1/browser-calls/claim/", {"page": str(PAGE)}).json()
    assert call.pop("id")
    assert call == {
        "task": "greet",
        "model": "tiny",
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 50,
        "temperature": 0.0,
        "top_p": None,
        "top_k": None,
        "min_p": None,
        "repetition_penalty": None,
        "stop": ["END"],
        "extra_body": {},
    }
    url = f"/api/v1/browser-calls/{BrowserCall.objects.for_owner(alice).get().pk}/"
    assert api.post(f"{url}progress/", {"page": str(PAGE), "text": "Hel"}).status_code == 204
    assert api.post(f"{url}reply/", {"page": str(OTHER_PAGE), "text": "No."}).status_code == 409
    for _ in range(2):
        assert api.post(f"{url}reply/", {"page": str(PAGE), "text": "Hello."}).status_code == 204
    assert future.result(60).text == "Hello."
    assert api.post(f"{url}progress/", {"page": str(PAGE)}).status_code == 409


def test_calls_of_others_are_invisible(alice, connection):
    call = queued(connection)
    stranger = client_of(UserFactory())
    page = {"page": str(PAGE)}
    assert stranger.post("/api/v1/browser-calls/claim/", page).status_code == 204
    claimed(alice)
    for action, body in (("progress", page), ("reply", page | {"text": "Hello."})):
        assert stranger.post(f"/api/v1/browser-calls/{call.pk}/{action}/", body).status_code == 404
    events = b"".join(stranger.get(f"/api/v1/browser-calls/events/?page={PAGE}").streaming_content)
    assert b"event: call" not in events


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/page"),
        ({"page": 1}, "/page"),
        ({"page": "x"}, "/page"),
        ({"text": 1}, "/text"),
        ({"text": None}, "/text"),
        ({"text": "a", "error": "b"}, "/text"),
        ({"error": ""}, "/error"),
        ({"text": "a", "prompt_tokens": -1}, "/prompt_tokens"),
        ({"text": "a", "completion_tokens": 1.5}, "/completion_tokens"),
        ({"text": "a", "cut_off": "no"}, "/cut_off"),
        ({"text": "a", "other": 1}, "/other"),
    ],
)
def test_bad_replies_name_the_field(alice, api, connection, body, pointer):
    call = queued(connection)
    claimed(alice)
    given = body if pointer == "/page" else {"page": str(PAGE)} | body
    reply = api.post(f"/api/v1/browser-calls/{call.pk}/reply/", given)
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, pointer)


def test_the_stream_of_a_server_that_cannot_hold_it_open(alice, api, connection):
    assert api.get("/api/v1/browser-calls/events/?page=x").status_code == 400
    Connection.objects.for_owner(alice).update(page_seen_at=None)
    url = f"/api/v1/browser-calls/events/?page={PAGE}"
    events = b"".join(api.get(url).streaming_content)
    assert b"event: beat" in events
    assert b"event: call" not in events
    connection.refresh_from_db()
    assert calls.is_page_open(connection.page_seen_at)
    queued(connection)
    assert b"event: call" in b"".join(api.get(url).streaming_content)


# Streams


def test_a_stream_marks_the_page_as_open_and_tells_of_a_call_once_a_beat(alice, connection, monkeypatch):
    monkeypatch.setattr(streams, "POLL_INTERVAL", 0.01)
    monkeypatch.setattr(streams, "BEATS_PER_STREAM", 2)
    Connection.objects.for_owner(alice).update(page_seen_at=None)
    queued(connection)

    async def read() -> list[bytes]:
        return [event async for event in streams.stream(alice.pk, PAGE)]

    assert in_thread(read) == [streams.RETRY, streams.BEAT, streams.CALL, streams.BEAT, streams.CALL]
    connection.refresh_from_db()
    assert calls.is_page_open(connection.page_seen_at)


def test_a_stream_that_is_cancelled_releases_the_call(alice, connection):
    call = queued(connection)
    claimed(alice)

    async def cancel() -> None:
        opened = asyncio.Event()

        async def read() -> None:
            async for _ in streams.stream(alice.pk, PAGE):
                opened.set()

        task = asyncio.create_task(read())
        await opened.wait()
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    in_thread(cancel)
    call.refresh_from_db()
    assert call.claimed_until < timezone.now() + calls.GRACE
