"""A replica answers searches and exports, and nobody notices but the primary, which has less to do."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import httpx
import pytest
from django.db import DatabaseError, connection, connections, transaction
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.common.database import replica
from apps.common.database.replica import REPLICA, ReplicaRouter, from_replica, reading_connection
from apps.common.database.restriction import OWNER_SETTING, RESTRICTED_ROLE, restricted_to
from apps.search.indexing import index_messages
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import SnapshotScope
from apps.snapshots.writing import write_archive_of_one_moment
from config.env import django_database
from tests.conftest import WebServer
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat, make_memory, parsed
from tests.system.standby import Standby, run_sql, standby

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = ["Where did we hide the key?", "Under the flat stone by the well."]
SEARCH = "/api/v1/memories/search/"
TIMEOUT = 60.0  # seconds


@pytest.fixture(scope="module")
def shared_replica(django_db_setup: None, django_db_blocker: Any) -> Iterator[Standby]:
    with django_db_blocker.unblock(), standby() as copy:
        # As servers are in service: a commit is confirmed once it is flushed.
        run_sql(f"ALTER DATABASE {connection.settings_dict['NAME']} SET synchronous_commit = on")
        connection.close()
        yield copy
        run_sql(f"ALTER DATABASE {connection.settings_dict['NAME']} RESET synchronous_commit")
        connection.close()


@pytest.fixture
def running(transactional_db: None, shared_replica: Standby, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standby]:
    """The replica, which this process and those that the test starts know."""
    monkeypatch.setenv("DATABASE_REPLICA_URL", shared_replica.url)
    monkeypatch.setattr(replica, "_rests_until", 0.0)
    database = django_database(shared_replica.parameters)
    connections.settings[REPLICA] = connections.configure_settings({"default": {}, REPLICA: database})[REPLICA]
    allow_connection(monkeypatch, connections[REPLICA])
    yield shared_replica
    connections[REPLICA].close()
    del connections[REPLICA]
    del connections.settings[REPLICA]


def allow_connection(monkeypatch: pytest.MonkeyPatch, wrapper: Any) -> None:
    """Django lets tests connect to the databases alone that they would empty at their end."""

    def ensure_connection() -> None:
        if wrapper.connection is None:
            with wrapper.wrap_database_errors:
                wrapper.connect()

    monkeypatch.setattr(wrapper, "ensure_connection", ensure_connection)


@pytest.fixture
def owner(running: Standby) -> User:
    return UserFactory()


@pytest.fixture
def chat(owner: User) -> Chat:
    chat = make_chat(owner, *TEXTS)
    index_messages(owner, chat)
    return chat


@pytest.fixture
def client(owner: User) -> APIClient:
    return client_of(owner)


@contextmanager
def on_replica() -> Iterator[list[tuple[str, ...]]]:
    """Collect role and owner of each statement on rows of owners that the replica executes."""
    seen: list[tuple[str, ...]] = []

    def observe(execute: Any, sql: str, *args: Any) -> Any:
        if "owner_id" in sql:
            query = f"SELECT current_user, current_setting('{OWNER_SETTING}', true)"
            seen.append(connections[REPLICA].connection.execute(query).fetchone())
        return execute(sql, *args)

    with connections[REPLICA].execute_wrapper(observe):
        yield seen


@contextmanager
def paused(running: Standby) -> Iterator[None]:
    """Hold the replica where it is."""
    running.execute("SELECT pg_wal_replay_pause()")
    deadline = time.monotonic() + TIMEOUT
    while running.execute("SELECT pg_get_wal_replay_pause_state()") != "paused":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    try:
        yield
    finally:
        running.execute("SELECT pg_wal_replay_resume()")


def found(client: APIClient, query: str) -> list[str]:
    reply = client.post(SEARCH, {"query": query})
    assert reply.status_code == 200
    return [
        result["message"]["mes"] if result["message"] else result["memory"]["text"] for result in reply.data["results"]
    ]


def test_it_answers_searches_and_exports_under_row_level_security(client: APIClient, owner: User, chat: Chat) -> None:
    make_memory(chat, "The key is under the stone.")
    for read in (
        lambda: found(client, "the key"),
        lambda: b"".join(client.get(f"/api/v1/chats/{chat.pk}/export/").streaming_content),
        lambda: client.get(f"/api/v1/chats/{chat.pk}/memory-export/").data["memories"][0]["text"],
        lambda: client.get(f"/api/v1/chats/{chat.pk}/memories/export/?format=markdown").content,
    ):
        with on_replica() as seen:
            answer = read()
        assert "stone" in str(answer)
        assert set(seen) == {(RESTRICTED_ROLE, str(owner.pk))}


def test_other_requests_and_transactions_stay_with_the_primary(client: APIClient, chat: Chat) -> None:
    with on_replica() as seen:
        assert client.get(f"/api/v1/chats/{chat.pk}/messages/").status_code == 200
        assert client.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": "Where is the key?"}).status_code == 200
        with transaction.atomic():
            assert from_replica(reading_connection).alias == "default"
    assert not seen


def test_it_shows_no_row_without_an_owner_and_accepts_no_write(running: Standby, chat: Chat) -> None:
    bob = UserFactory()

    def number_of_messages() -> tuple[str, int]:
        with reading_connection().cursor() as cursor:
            cursor.execute("SELECT count(*) FROM chats_message")
            return reading_connection().alias, cursor.fetchone()[0]

    assert from_replica(number_of_messages) == (REPLICA, 2)
    for owner_id, number in ((None, 0), (bob.pk, 0), (chat.owner_id, 2)):
        with restricted_to(owner_id):
            assert from_replica(number_of_messages) == (REPLICA, number)
    with pytest.raises(DatabaseError, match="read-only"), connections[REPLICA].cursor() as cursor:
        cursor.execute("DELETE FROM chats_message")
    assert not ReplicaRouter().allow_migrate(REPLICA, "chats")


def test_who_writes_sees_it_at_once_while_the_replica_is_behind(
    running: Standby, client: APIClient, owner: User, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paused(running):
        appended = append_messages(owner, chat.pk, [parsed("The key is in the old lighthouse.")])
        index_messages(owner, appended.chat)
        for _ in range(2):
            with on_replica() as seen:
                assert "The key is in the old lighthouse." in found(client, "lighthouse")
                export = b"".join(client.get(f"/api/v1/chats/{chat.pk}/export/").streaming_content)
                assert b"lighthouse" in export
            assert not seen
            assert replica._rests_until > time.monotonic()
        assert running.execute("SELECT count(*) FROM chats_message WHERE chat_id = %s", chat.pk) == 2
    monkeypatch.setattr(replica, "_rests_until", 0.0)
    deadline = time.monotonic() + TIMEOUT
    while running.execute("SELECT count(*) FROM chats_message WHERE chat_id = %s", chat.pk) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with on_replica() as seen:
        assert "The key is in the old lighthouse." in found(client, "lighthouse")
    assert seen


def test_a_write_is_seen_by_the_next_search_also_without_a_pause(client: APIClient, owner: User, chat: Chat) -> None:
    by_replica = []
    for number in range(20):
        text = f"The password is walrus{number}."
        index_messages(owner, append_messages(owner, chat.pk, [parsed(text)]).chat)
        with on_replica() as seen:
            assert text in found(client, f"walrus{number}")
        by_replica.append(bool(seen))
    assert any(by_replica), "the replica never answered, so that nothing was compared"


def test_an_account_is_archived_from_it_as_from_the_primary(owner: User, chat: Chat) -> None:
    scope = SnapshotScope(Snapshot.Kind.ACCOUNT, owner.pk)
    archive, progress = BytesIO(), []
    with on_replica() as seen:
        manifest = write_archive_of_one_moment(scope, archive, lambda *numbers: progress.append(numbers))
    assert len(seen) > 30
    with transaction.atomic():  # for which the primary answers
        assert write_archive_from_primary(scope).counts == manifest.counts
    assert manifest.counts["chats.Message"] == 2


def write_archive_from_primary(scope: SnapshotScope) -> Any:
    from apps.snapshots.writing import write_archive

    return write_archive(scope, BytesIO())


def test_a_replica_that_goes_in_the_midst_of_an_answer_is_replaced_by_the_primary(running: Standby, chat: Chat) -> None:
    asked = []

    def read() -> int:
        asked.append(reading_connection().alias)
        number = Chat.objects.for_owner(chat.owner_id).count()
        if reading_connection().alias == REPLICA:
            running.kill()
        return number + Chat.objects.for_owner(chat.owner_id).count()

    try:
        assert from_replica(read) == 2
        assert asked == [REPLICA, "default"]
        assert from_replica(read) == 2  # while it rests
        replica._rests_until = 0.0
        started = time.monotonic()
        assert from_replica(read) == 2  # while it is down
        assert time.monotonic() - started < 1
        assert asked == [REPLICA, "default", "default", "default"]
    finally:
        running.start()


def test_searches_and_exports_of_a_web_server_go_on_while_the_replica_is_killed(
    running: Standby, owner: User, chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_messages(owner, chat.pk, [parsed(f"Step {number} along the wall.") for number in range(1000)])
    monkeypatch.setenv("METRICS_TOKEN", "s3cret")
    token = create_token(owner, name="test")[1]
    server = WebServer()
    server.start()
    statuses: list[int] = []
    lines: list[int] = []
    stopped = threading.Event()

    def go_on(kind: str) -> None:
        with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT) as http:
            while not stopped.is_set():
                if kind == "search":
                    statuses.append(http.post(SEARCH, json={"query": "the key"}).status_code)
                else:
                    reply = http.get(f"/api/v1/chats/{chat.pk}/export/")
                    statuses.append(reply.status_code)
                    lines.append(len([json.loads(line) for line in reply.text.splitlines()]))

    threads = [threading.Thread(target=go_on, args=[kind]) for kind in ("search", "export", "search")]
    try:
        for thread in threads:
            thread.start()
        wait_for_answers(server, "replica", 20)
        running.kill()
        wait_for_answers(server, "primary", 20)
        running.start()
        wait_for_answers(server, "replica", int(answers(server)["replica"]) + 20)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        server.kill()
        running.kill()
        running.start()
    assert set(statuses) == {200}
    assert set(lines) == {1003}


def answers(server: WebServer) -> dict[str, float]:
    reply = httpx.get(f"{server.url}/metrics", headers={"Authorization": "Bearer s3cret"}, timeout=TIMEOUT)
    rows = [line.rpartition(" ") for line in reply.text.splitlines() if line.startswith("loci_replica_reads_total{")]
    return {name.split('"')[1]: float(value) for name, _, value in rows}


def wait_for_answers(server: WebServer, by: str, number: int) -> None:
    deadline = time.monotonic() + TIMEOUT
    while answers(server).get(by, 0) < number:
        assert time.monotonic() < deadline, answers(server)
        time.sleep(0.3)
