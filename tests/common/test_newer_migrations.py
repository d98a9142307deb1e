"""In an update, old processes meet the new version's tables until they are replaced."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.accounts.operations import create_token
from apps.common.database import newer_migrations
from tests.conftest import WebServer
from tests.contract.conftest import client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
AHEAD = dt.timedelta(minutes=1)  # by which clocks may differ


@contextmanager
def other_tables(table: str, column: str) -> Iterator[None]:
    """Have a table as another version has it, without a column of this one."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO renamed")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} RENAME COLUMN renamed TO {column}")


@contextmanager
def newer_migration(name: str = "9999_newer") -> Iterator[None]:
    applied = MigrationRecorder.Migration.objects.create(app="sync", name=name, applied=dt.datetime.now(dt.UTC) + AHEAD)
    try:
        yield
    finally:
        applied.delete()


def test_an_event_stream_of_an_old_process_is_a_503(web_server: WebServer) -> None:
    headers = {"Authorization": f"Bearer {create_token(UserFactory(), name='test')[1]}"}
    with newer_migration(), other_tables("common_lease", "holders"):
        reply = httpx.get(f"{web_server.url}/api/v1/events/", headers=headers, timeout=60)
    assert (reply.status_code, reply.json()["type"]) == (503, "/problems/unavailable")
    assert reply.headers["Retry-After"] == "10"
    assert "updated" in reply.json()["detail"]


def test_a_write_with_an_idempotency_key_is_a_503_and_is_repeated_later() -> None:
    alice = client_of(UserFactory())
    with newer_migration(), other_tables("chats_chat", "title"):
        reply = alice.post("/api/v1/chats/", {"title": "Tide"}, HTTP_IDEMPOTENCY_KEY="once")
    assert (reply.status_code, reply["Retry-After"]) == (503, "10")
    reply = alice.post("/api/v1/chats/", {"title": "Tide"}, HTTP_IDEMPOTENCY_KEY="once")
    assert (reply.status_code, reply.json()["title"]) == (201, "Tide")


def test_an_error_without_a_migration_that_the_code_lacks_stays_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newer_migrations, "BEGUN", dt.datetime.now(dt.UTC))  # after the migrations of the tests
    alice = client_of(UserFactory())
    alice.raise_request_exception = False
    with other_tables("chats_chat", "title"):
        assert alice.get("/api/v1/chats/").status_code == 500
    # Applied by a machine whose clock is ahead, but known.
    with newer_migration("0001_initial"), other_tables("chats_chat", "title"):
        assert alice.get("/api/v1/chats/").status_code == 500


def test_a_database_that_does_not_say_was_not_migrated() -> None:
    with newer_migration():
        assert newer_migrations.was_migrated_since(dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
    with newer_migration(), other_tables("django_migrations", "applied"):
        assert not newer_migrations.was_migrated_since(dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
