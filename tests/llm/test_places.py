"""Places on a connection: how many calls are sent at a time, in which order, over several processes."""

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable

import pytest
from django.conf import settings
from django.db import connection as database
from django.utils import timezone

from apps.common import leases
from apps.common.models import Lease
from apps.llm import places
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.backends.selection import backend_for, embedder_for
from apps.llm.generation import GenerationRequest, Misconfigured, unwatched
from apps.llm.models import Connection
from apps.llm.operations import delete_connection
from config.env import ROOT
from tests.llm.scripted_server import Reply, Request, ScriptedServer
from tests.llm.test_calls import Cancelled, Watch

CALL_OF_ANOTHER_PROCESS = """
import sys, uuid, django
django.setup()
from apps.llm.backends.selection import backend_for
from apps.llm.generation import GenerationRequest
backend_for(uuid.UUID(sys.argv[1])).generate(GenerationRequest("greet", [{"role": "user", "content": "other"}]))
"""
pytestmark = pytest.mark.django_db(transaction=True)
Connect = Callable[..., Connection]


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "POLL_INTERVAL", 0.02)
    monkeypatch.setattr(places, "WATCH_INTERVAL", 0.05)
    monkeypatch.setattr("apps.llm.http.transport.TICK", 0.05)


class Gauge:
    """Answer of a server that takes ``seconds``, and counts how many requests are under way."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.under_way = self.most = 0
        self.order: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.order.append(request.prompt)
        threading.Timer(self.seconds, self._end).start()
        return Reply("Hello.", delay=self.seconds)

    def _end(self) -> None:
        with self._lock:
            self.under_way -= 1


def request_of(text: str) -> GenerationRequest:
    return GenerationRequest("tests.greet", [{"role": "user", "content": text}], max_tokens=50)


def call_in_thread(connection: Connection, *texts: str) -> threading.Thread:
    """Make the calls one after the other in a thread with a database connection of its own."""

    def work() -> None:
        backend = ConnectedBackend(Connection.objects.for_owner(connection.owner_id).get(pk=connection.pk))
        try:
            for text in texts:
                backend.generate(request_of(text))
        finally:
            database.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def waiting(connection: Connection) -> int:
    return len(calls_on(connection)[connection.parallel_calls :])


def calls_on(connection: Connection) -> list[uuid.UUID]:
    """The calls that wait for a place on a connection or have one."""
    return leases.holders(places.lease_of_calls(connection))


@pytest.mark.parametrize("parallel_calls", [1, 2])
def test_no_more_calls_than_places_are_sent_at_a_time(connect: Connect, server: ScriptedServer, parallel_calls):
    connection = connect(parallel_calls=parallel_calls)
    gauge = Gauge(0.2)
    server.reply_to(lambda request: request.kind == "generation", gauge)
    threads = [call_in_thread(connection, "Hello") for _ in range(5)]
    for thread in threads:
        thread.join(60)
    assert (gauge.most, len(gauge.order)) == (parallel_calls, 5)
    assert not calls_on(connection)


def test_chats_take_turns_on_a_connection(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    gauge = Gauge(0.2)
    server.reply_to(lambda request: request.kind == "generation", gauge)
    first = call_in_thread(connection, "a1", "a2", "a3")
    wait_until(lambda: bool(gauge.order))
    second = call_in_thread(connection, "b1", "b2", "b3")
    first.join(60)
    second.join(60)
    assert gauge.order == ["a1", "b1", "a2", "b2", "a3", "b3"]


def test_the_time_limit_of_a_call_begins_when_it_is_sent(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1, timeout=3)
    server.reply_to(lambda request: request.kind == "generation", lambda request: Reply("Hello.", delay=1.6))
    threads = [call_in_thread(connection, "other") for _ in range(2)]
    wait_until(lambda: waiting(connection) == 1)
    watch = Watch()
    start = time.monotonic()
    assert backend_for(connection.owner_id).generate(request_of("mine"), watch).text == "Hello."
    assert time.monotonic() - start > 3
    assert watch.calls > 10, "the caller sends heartbeats while it waits"
    for thread in threads:
        thread.join(60)
    assert len(server.of_kind("generation")) == 3, "no call was repeated"


def test_a_call_that_waits_can_be_cancelled(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    server.reply_to(lambda request: request.kind == "generation", Reply("Hello.", delay=1))
    thread = call_in_thread(connection, "other")
    wait_until(lambda: bool(server.requests))
    with pytest.raises(Cancelled):
        backend_for(connection.owner_id).generate(request_of("mine"), Watch(cancel_at=2))
    assert waiting(connection) == 0
    thread.join(60)
    assert len(server.requests) == 1


def test_a_reply_goes_before_a_reading_where_there_is_one_place(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(request.prompt)
        delay = 1.5 if request.prompt == "reply" else 30 if len(asked) == 1 else 0
        return Reply("Hello.", delay=delay)

    server.reply_to(lambda request: request.kind == "generation", answer)
    reading = call_in_thread(connection, "reading")
    wait_until(lambda: bool(asked))
    later = call_in_thread(connection, "later")
    wait_until(lambda: waiting(connection) == 1)
    start = time.monotonic()
    assert ConnectedBackend(connection, is_urgent=True).generate(request_of("reply")).text == "Hello."
    for thread in (reading, later):
        thread.join(60)
    assert time.monotonic() - start < 20  # seconds
    assert asked[:2] == ["reading", "reply"]
    assert sorted(asked[2:]) == ["later", "reading"]
    assert not calls_on(connection)


def test_a_search_and_a_test_do_not_wait_for_a_place(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1, timeout=300)
    may_end = threading.Event()
    server.reply_to(lambda request: request.prompt == "other", Reply("Hello.", pace=300, hurry=may_end))
    thread = call_in_thread(connection, "other")
    wait_until(lambda: bool(server.requests))
    assert embedder_for(connection.owner_id).embed(["ship"]).shape == (1, 16)
    assert ConnectedBackend(connection, is_urgent=True).generate(request_of("ready?")).text == "Hello."
    assert thread.is_alive(), "the other call holds the connection's only place"
    may_end.set()
    thread.join(60)


def test_a_call_ends_its_wait_when_its_connection_is_deleted(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    backend = backend_for(connection.owner_id)
    delete_connection(Connection.objects.for_owner(connection.owner_id).get(pk=connection.pk))
    with pytest.raises(Misconfigured, match="was deleted"):
        backend.generate(request_of("mine"))
    assert server.requests == []


def test_a_call_of_a_killed_process_loses_its_place(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    server.reply_to(lambda request: request.prompt == "other", Reply("Hello.", delay=60))
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "LOCI_TEST_HOME": str(settings.LOCI_HOME)}
    process = subprocess.Popen(
        [sys.executable, "-c", CALL_OF_ANOTHER_PROCESS, str(connection.owner_id)],
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        wait_until(lambda: bool(server.requests))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(calls_on(connection)) == 1
    Lease.objects.update(ends=[timezone.now() + dt.timedelta(seconds=0.5)])
    assert backend_for(connection.owner_id).generate(request_of("mine")).text == "Hello."


def test_a_long_call_keeps_its_place(connect: Connect, server: ScriptedServer, monkeypatch):
    monkeypatch.setattr(places, "EXPIRY", 0.6)
    monkeypatch.setattr(places, "RENEWAL_INTERVAL", 0.1)
    connection = connect(parallel_calls=1)
    gauge = Gauge(1.5)
    server.reply_to(lambda request: request.kind == "generation", gauge)
    thread = call_in_thread(connection, "long")
    wait_until(lambda: bool(gauge.order))
    backend_for(connection.owner_id).generate(request_of("mine"))
    thread.join(60)
    assert gauge.most == 1


def test_no_transaction_is_open_while_a_call_waits_or_is_sent(connect: Connect, server: ScriptedServer):
    connection = connect(parallel_calls=1)
    server.reply_to(lambda request: request.kind == "generation", Reply("Hello.", delay=0.5))
    thread = call_in_thread(connection, "other")
    wait_until(lambda: bool(server.requests))
    states: list[bool] = []
    backend_for(connection.owner_id).generate(request_of("mine"), lambda: states.append(database.in_atomic_block))
    thread.join(60)
    assert len(states) > 5
    assert not any(states)


def test_a_place_is_given_back_after_a_failure(connect: Connect):
    connection = connect(parallel_calls=1)
    with pytest.raises(ZeroDivisionError), places.place_on(connection, unwatched):
        raise ZeroDivisionError
    assert not calls_on(connection)
