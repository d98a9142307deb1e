"""Requests whose transaction Postgres rolls back are repeated once, and rows are locked in one order."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import create_chat, delete_character, delete_chat, purge_chat, restore_chat
from apps.common.database.restriction import restricted_to
from config.urls import handler500 as handler500
from tests.contract.conftest import client_of
from tests.factories import make_character, make_chat

PATIENCE = 60  # seconds


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is the key?", "Under the stone.", character=make_character(alice))


@pytest.fixture
def sqlstates() -> Iterator[list[str]]:
    """The SQLSTATEs of the errors in this thread's connection."""
    seen: list[str] = []

    def watch(execute: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return execute(*arguments)
        except OperationalError as error:
            seen.append(getattr(error.__cause__, "sqlstate", ""))
            raise

    with connection.execute_wrapper(watch):
        yield seen


class Rival(threading.Thread):
    """A transaction that locks a row, and once somebody waits for it, the row of the chat, which they have locked.

    It is the other transaction that Postgres then rolls back: this one looks for deadlocks too late.
    """

    def __init__(self, table: str, pk: Any, chat: Chat) -> None:
        super().__init__()
        self.table, self.pk, self.chat = table, pk, chat
        self.has_locked = threading.Event()

    def __enter__(self) -> "Rival":
        self.start()
        assert self.has_locked.wait(PATIENCE)
        return self

    def __exit__(self, *error: object) -> None:
        self.join(PATIENCE)
        assert not self.is_alive()

    def run(self) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '1min'")
                cursor.execute(f"SELECT FROM {self.table} WHERE id = %s FOR NO KEY UPDATE", [self.pk])
                self.has_locked.set()
                waits = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
                deadline = time.monotonic() + PATIENCE
                while cursor.execute(waits).fetchone() == (0,) and time.monotonic() < deadline:
                    time.sleep(0.01)
                cursor.execute("SELECT FROM chats_chat WHERE id = %s FOR UPDATE", [self.chat.pk])
        finally:
            connection.close()


@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k1"}], ids=["without a key", "with a key"])
def test_a_write_of_the_api_that_deadlocks_is_repeated(
    alice: User, chat: Chat, sqlstates: list[str], headers: dict[str, str]
) -> None:
    client: APIClient = client_of(alice)
    body = {"integrity": str(chat.integrity), "patches": [{"index": 0, "set": {"mes": "Where is it?"}}]}
    with Rival("chats_message", chat.messages.get(index=0).pk, chat):
        reply = client.post(f"/api/v1/chats/{chat.pk}/patch/", body, **headers)
    assert sqlstates == ["40P01"]
    assert (reply.status_code, reply.json()["applied"]) == (200, 1)
    assert (reply.json()["rev"], chat.messages.get(index=0).mes) == (chat.rev + 1, "Where is it?")


@pytest.mark.parametrize("route", ["/api/v1/chats/{}/", "/chats/{}/delete/"], ids=["API", "page"])
def test_a_deletion_that_deadlocks_is_repeated(alice: User, chat: Chat, sqlstates: list[str], route: str) -> None:
    page, api = Client(), client_of(alice)
    page.force_login(alice)
    with Rival("accounts_user", alice.pk, chat):
        reply = (api.delete if "api" in route else page.post)(route.format(chat.pk))
    assert sqlstates == ["40P01"]
    assert reply.status_code in (204, 302)
    assert Chat.in_bin.for_owner(alice).get().pk == chat.pk


calls: list[str] = []


def fail(request: HttpRequest, code: str, times: int) -> HttpResponse:
    """Create a chat, and have Postgres raise an error the first times that it is called."""
    calls.append(code)
    alice = User.objects.get()
    with restricted_to(alice.pk), transaction.atomic(), connection.cursor() as cursor:
        create_chat(alice, title="Once")
        if len(calls) <= times:
            cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$")
    return HttpResponse("done")


urlpatterns = [path("<slug:code>/<int:times>/", fail)]


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(
    ("code", "times", "status", "attempts"),
    [
        ("40P01", 1, 200, 2),
        ("40001", 1, 200, 2),
        ("40001", 2, 503, 2),
        ("23503", 1, 200, 2),  # a row that it refers to was deleted meanwhile
        ("23503", 2, 503, 2),
        ("55P03", 1, 503, 1),  # a lock that is not available in time
        ("23505", 1, 500, 1),  # a unique violation
    ],
)
def test_a_request_is_repeated_once_and_for_rolled_back_transactions_only(
    alice: User, code: str, times: int, status: int, attempts: int
) -> None:
    calls.clear()
    reply = Client(raise_request_exception=False).get(f"/{code}/{times}/")
    assert (reply.status_code, len(calls)) == (status, attempts)
    assert Chat.objects.for_owner(alice).count() == (1 if status == 200 else 0)


def locked_tables(work: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        work()
    locking = [query["sql"] for query in queries if " FOR UPDATE" in query["sql"] or " FOR NO KEY" in query["sql"]]
    return list(dict.fromkeys(sql.split(" FROM ")[1].split()[0].strip('"') for sql in locking))


def test_chats_are_locked_before_their_owner_and_their_characters(alice: User, chat: Chat) -> None:
    order = ["chats_chat", "accounts_user", "chats_character"]
    assert locked_tables(lambda: delete_chat(chat)) == order
    assert locked_tables(lambda: restore_chat(alice, chat.pk)) == order
    assert locked_tables(lambda: purge_chat(alice, chat.pk)) == order
    assert chat.character is not None
    assert locked_tables(lambda: delete_character(chat.character)) == ["chats_chat"]
