"""Test the event stream of the real web server."""

import datetime as dt
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test import override_settings
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token, revoke_token
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import (
    Patch,
    append_messages,
    create_chat,
    delete_chat,
    organize_chats,
    patch_messages,
    restore_chat,
)
from apps.chats.operations.organizing import ChatAction
from apps.common import jobs, leases
from apps.common.documents.patches import DocumentPatch
from apps.common.models import Lease
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.operations import delete_memory, restore_memory
from apps.sync.open_streams import lease_of_streams
from apps.sync.settings_documents import patch_settings, read_settings
from tests.conftest import WebServer, wait_for_idle_database
from tests.factories import UserFactory, make_chat, make_memory, parsed

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 60  # seconds
MAX_STREAMS = 10  # more than the pool has connections
HEARTBEAT = "0.3"  # seconds
JSON = {"Accept": "application/json"}
LISTENING = "FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN loci_live'"


class Listener:
    """A client that reads a stream in a thread."""

    def __init__(self, client: httpx.Client, query: str = "") -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.beats = 0
        self.ended = threading.Event()
        self._client, self._query = client, query
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the stream did not begin"

    def _read(self) -> None:
        try:
            with self._client.stream("GET", f"/api/v1/events/{self._query}") as reply:
                assert reply.status_code == 200
                name = ""
                for line in reply.iter_lines():
                    if line.startswith("retry:"):
                        self._ready.set()
                    elif line.startswith(":"):
                        self.beats += 1
                    elif line.startswith("event: "):
                        name = line.removeprefix("event: ")
                    elif line.startswith("data: "):
                        self.events.append((name, json.loads(line.removeprefix("data: "))))
        except httpx.TransportError:
            pass
        finally:
            self.ended.set()

    def wait_for(self, condition: Callable[["Listener"], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition(self):
            assert time.monotonic() < deadline, self.events
            time.sleep(0.02)


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "secret")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "one", "two")


@pytest.fixture(scope="module")
def kept_server(django_db_setup: None) -> Iterator[WebServer]:
    """Return a server, started later with one process, so that it counts all streams."""
    server = WebServer()
    yield server
    server.kill()


@pytest.fixture
def server(kept_server: WebServer, transactional_db: None) -> Iterator[WebServer]:
    if kept_server.process is None:
        with pytest.MonkeyPatch.context() as patch, override_settings(WEB_CONCURRENCY=1):
            patch.setenv("SSE_HEARTBEAT", HEARTBEAT)
            patch.setenv("SSE_MAX_PER_USER", str(MAX_STREAMS))
            kept_server.start()
    yield kept_server
    wait_for_idle_database()


@contextmanager
def client_of(server: WebServer, user: User) -> Iterator[httpx.Client]:
    _, secret = create_token(user, name="test")
    headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60, trust_env=False) as client:
        yield client


def edit(user: User, chat: Chat, text: str) -> Chat:
    return patch_messages(user, chat.pk, [Patch({"mes": text}, index=0)], Guard(optional=True)).chat


def test_a_committed_write_is_sent_as_an_event(server: WebServer, alice: User, chat: Chat) -> None:
    with client_of(server, alice) as client:
        listener = Listener(client)
        after = edit(alice, chat, "edited")
        listener.wait_for(lambda it: it.events)
    name, data = listener.events[0]
    assert name == "chat"
    assert data == {"chat": str(chat.pk), "rev": after.rev, "integrity": str(after.integrity), "kind": "patch"}


def test_a_stream_has_settings_events_or_is_limited_to_one_chat(server: WebServer, alice: User, chat: Chat) -> None:
    other = create_chat(alice, title="Another")
    with client_of(server, alice) as client:
        narrow, wide = Listener(client, f"?chat={other.pk}"), Listener(client)
        settings = read_settings(alice)
        patch_settings(alice, DocumentPatch(merge={"theme": "dark"}), Guard(settings.integrity))
        edit(alice, chat, "edited")
        wide.wait_for(lambda it: len(it.events) == 2)
        append_messages(alice, other.pk, [parsed("Hello")])
        narrow.wait_for(lambda it: it.events)
    assert [name for name, _ in wide.events[:2]] == ["settings", "chat"]
    assert [data["chat"] for _, data in narrow.events] == [str(other.pk)]


def test_runs_are_sent_as_events_when_they_start_pause_and_end(server: WebServer, alice: User, chat: Chat) -> None:
    with client_of(server, alice) as client:
        listener = Listener(client, f"?chat={chat.pk}")
        run, _ = start_run(alice, chat)
        states = ["queued", "paused", "queued", "succeeded"]
        for number, act in enumerate((None, jobs.pause, jobs.resume, lambda run: pipeline.execute(run.pk)), 1):
            if act is not None:
                act(run)
            listener.wait_for(lambda it, number=number: len(it.events) == number)
    expected = [{"chat": str(chat.pk), "run": str(run.pk), "state": state} for state in states]
    assert listener.events == [("run", data) for data in expected]


def test_a_change_of_the_list_is_sent_as_an_event(server: WebServer, alice: User, chat: Chat) -> None:
    changes = (
        lambda: organize_chats(alice, [chat.pk], ChatAction.ARCHIVE),
        lambda: delete_chat(chat),
        lambda: restore_chat(alice, chat.pk),
    )
    with client_of(server, alice) as client:
        listener = Listener(client)
        for number, change in enumerate(changes, start=1):
            change()
            listener.wait_for(lambda it, number=number: len(it.events) == number)
    assert listener.events == [("chats", {})] * 3


def test_a_deleted_memory_is_sent_as_an_event_and_named_by_the_feed(server: WebServer, alice: User, chat: Chat) -> None:
    """To the streams of all chats: those of one character share memories."""
    memory, other = make_memory(chat, "Tom likes tea."), make_memory(create_chat(alice, title="Another"), "Milk.")
    since = chat.integrity
    with client_of(server, alice) as client:
        narrow = Listener(client, f"?chat={chat.pk}")
        for number, act in enumerate((delete_memory, restore_memory, delete_memory), 1):
            act(memory)
            narrow.wait_for(lambda it, number=number: [name for name, _ in it.events].count("memories") == number)
        delete_memory(other)
        feed = client.get(f"/api/v1/chats/{chat.pk}/changes/?since={since}", headers=JSON).json()
        everything = client.get("/api/v1/memories/tombstones/", headers=JSON).json()
        later = client.get("/api/v1/memories/tombstones/", params={"since": "2999-01-01T00:00Z"}, headers=JSON).json()
        assert client.get("/api/v1/memories/tombstones/?since=yesterday", headers=JSON).status_code == 400
    assert {name for name, _ in narrow.events} == {"memories", "memory"}
    assert (feed["changes"], [tomb["id"] for tomb in feed["tombstones"]]) == ([], [str(memory.pk)])
    assert [tomb["id"] for tomb in everything["tombstones"]] == [str(memory.pk), str(other.pk)]
    assert (everything["complete"], later["tombstones"]) == (True, [])


def test_other_users_get_no_events(server: WebServer, alice: User, chat: Chat) -> None:
    charlie = User.objects.create_user("charlie@example.com")
    with client_of(server, charlie) as client:
        assert client.get(f"/api/v1/events/?chat={chat.pk}").status_code == 404
        listener = Listener(client)
        edit(alice, chat, "edited")
        listener.wait_for(lambda it: it.beats > 2)
    assert listener.events == []


def test_too_many_streams_are_refused_until_one_is_closed(server: WebServer, alice: User) -> None:
    with client_of(server, alice) as client:
        with client_of(server, alice) as first:
            held = [Listener(first) for _ in range(MAX_STREAMS)]
            reply = client.get("/api/v1/events/")
            assert reply.status_code == 429
            assert reply.headers["Retry-After"]
            assert reply.json()["type"] == "/problems/too-many-streams"
        assert len(held) == MAX_STREAMS
        deadline = time.monotonic() + PATIENCE
        while True:
            with client.stream("GET", "/api/v1/events/") as reply:
                if reply.status_code == 200:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_streams_of_other_processes_count_while_these_live(server: WebServer, alice: User) -> None:
    key, hour = lease_of_streams(alice.pk), dt.timedelta(hours=1)  # as if their processes renewed them all the time
    others = [uuid.uuid4() for _ in range(MAX_STREAMS)]
    for other in others:
        leases.take(key, other, hour, limit=None)
    leases.take(lease_of_streams(UserFactory().pk), uuid.uuid4(), hour)
    with client_of(server, alice) as client:
        assert client.get("/api/v1/events/").status_code == 429
        leases.take(key, others[0], dt.timedelta(), limit=None)  # its process was killed
        listener = Listener(client)
        listener.wait_for(lambda it: it.beats > 1)
        lease = Lease.objects.get(key=key)
        assert client.get("/api/v1/events/").status_code == 429
        listener.wait_for(lambda it: it.beats > 4)
        renewed = Lease.objects.get(key=key)
        assert renewed.holders == lease.holders
        assert renewed.ends[-1] > lease.ends[-1]


def test_a_stream_ends_when_its_token_is_revoked(server: WebServer, alice: User) -> None:
    token, secret = create_token(alice, name="test")
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=60, trust_env=False
    ) as client:
        listener = Listener(client)
        listener.wait_for(lambda it: it.beats)
        revoke_token(token)
        assert listener.ended.wait(PATIENCE)


def test_a_stream_ends_at_once_when_its_token_is_revoked(web_server: WebServer, alice: User) -> None:
    token, secret = create_token(alice, name="test")
    with httpx.Client(
        base_url=web_server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=60, trust_env=False
    ) as client:
        listener = Listener(client)
        time.sleep(1)  # until it listens for notifications
        revoke_token(token)
        assert listener.ended.wait(10), "it waits for the next heartbeat, after 15 seconds"


def test_a_stream_ends_with_its_session(server: WebServer, alice: User) -> None:
    session = SessionStore()
    session[SESSION_KEY] = str(alice.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = alice.get_session_auth_hash()
    session.save()
    with httpx.Client(
        base_url=server.url, cookies={"sessionid": session.session_key}, timeout=60, trust_env=False
    ) as client:
        listener = Listener(client)
        listener.wait_for(lambda it: it.beats > 1)
        session.delete()
        assert listener.ended.wait(PATIENCE)


def test_after_a_lost_database_connection_clients_get_a_resync(server: WebServer, alice: User, chat: Chat) -> None:
    with client_of(server, alice) as client:
        listener = Listener(client)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_terminate_backend(pid) {LISTENING}")
            assert cursor.fetchall() == [(True,)]
        listener.wait_for(lambda it: ("resync", {}) in it.events)
        edit(alice, chat, "edited")
        listener.wait_for(lambda it: it.events[-1][0] == "chat")


def listening_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {LISTENING}")
        return int(cursor.fetchone()[0])


def test_open_streams_share_one_database_connection(server: WebServer, alice: User) -> None:
    with client_of(server, alice) as client:
        listeners = [Listener(client) for _ in range(MAX_STREAMS)]
        for listener in listeners:
            listener.wait_for(lambda it: it.beats > 1)
        assert client.get("/api/v1/chats/", headers={"Accept": "*/*"}, timeout=PATIENCE).status_code == 200
        assert listening_connections() == 1
    deadline = time.monotonic() + PATIENCE
    while listening_connections():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_server_stops_at_once_with_streams_open(server: WebServer, alice: User) -> None:
    with client_of(server, alice) as client:
        listener = Listener(client)
        assert server.process is not None
        server.process.terminate()
        server.process.wait(PATIENCE)
        server.process = None
        assert listener.ended.wait(PATIENCE)


def test_a_server_without_streams_replies_with_a_resync(alice: User, chat: Chat) -> None:
    _, secret = create_token(alice, name="test")
    client = APIClient(headers={"Authorization": f"Bearer {secret}"})
    reply = client.get("/api/v1/events/", headers={"accept": "text/event-stream"})
    assert reply.status_code == 200
    assert reply["X-Accel-Buffering"] == "no"
    assert b"event: resync" in b"".join(reply.streaming_content)
    assert client.get(f"/api/v1/events/?chat={chat.owner_id}").status_code == 404
    assert client.get("/api/v1/events/?chat=x").status_code == 404
