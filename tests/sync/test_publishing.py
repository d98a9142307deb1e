"""A write waits for nothing but its own chat: not for others who have published and stay in their transaction."""

import io
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from apps.chats.operations import append_messages
from apps.exchange.chats.imports import import_chats
from config.celery import app
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat, parsed

WRITERS = 4
SECONDS = 2.5  # of writes, without and with the transaction that has published
PATIENCE = 240  # seconds, on a busy machine

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def published() -> Iterator[None]:
    """Have a transaction of somebody else, which has published, open until the end of the block."""
    chat = make_chat(UserFactory(), "One.")
    has_published, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                append_messages(chat.owner_id, chat.pk, [parsed("Two.")])
                has_published.set()
                may_end.wait(PATIENCE)
        finally:
            connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert has_published.wait(PATIENCE)
        yield
    finally:
        may_end.set()
        holder.join()


def write(clients: list[Any], seconds: float) -> list[float]:
    """Have each client write for some seconds. Return how long each write took."""
    ends = time.monotonic() + seconds

    def write_on(client: Any) -> list[float]:
        taken = []
        try:
            while (began := time.monotonic()) < ends:
                body = {"force": True, "message": {"mes": "On we go.", "is_user": True}}
                assert client.post(f"/api/v1/chats/{client.chat.pk}/append/", body).status_code == 201
                taken.append(time.monotonic() - began)
        finally:
            connection.close()
        return taken

    with ThreadPoolExecutor(len(clients)) as threads:
        return [duration for taken in threads.map(write_on, clients) for duration in taken]


@pytest.fixture
def clients() -> list[Any]:
    """Clients of users with a chat each."""
    found = [client_of(UserFactory()) for _ in range(WRITERS)]
    for client in found:
        client.chat = make_chat(client.user)
    return found


@pytest.mark.worker
def test_nobody_waits_for_a_transaction_that_has_published(
    kept_celery_worker: Callable[..., None], clients: list[Any]
) -> None:
    kept_celery_worker("interactive")  # which sets up how it is woken
    write(clients, 0.5)
    alone = write(clients, SECONDS)
    with published():
        beside = write(clients, SECONDS)
    assert len(beside) > len(alone) / 3
    assert max(beside) < SECONDS / 2 + max(alone)


@pytest.mark.worker
def test_a_worker_that_starts_waits_for_no_publisher_and_keeps_none_waiting(
    start_celery_worker: Callable[..., Any], clients: list[Any]
) -> None:
    with published():
        start_celery_worker("interactive")
        assert write(clients, 0.5)


def test_an_import_publishes_once_it_is_stored() -> None:
    file = b'{"user_name":"Alice"}\n{"name":"Mira","mes":"Two."}'
    app.control.purge()
    locked = "SELECT count(*) FROM pg_locks WHERE relation = 'pgmq.q_scheduled'::regclass"
    with transaction.atomic(), connection.cursor() as cursor:
        [chat] = import_chats(UserFactory(), io.BytesIO(file), filename="chat.jsonl").chats
        assert cursor.execute(locked).fetchone() == (0,)
    with connection.cursor() as cursor:
        cursor.execute("SELECT message::text FROM pgmq.q_scheduled")
        assert any(str(chat.pk) in message for (message,) in cursor.fetchall())
    app.control.purge()


@contextmanager
def impatience() -> Iterator[None]:
    """Wait for no lock longer than a tenth of a second in this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
    yield
    connection.close()


@pytest.fixture
def impatient() -> Iterator[None]:
    with impatience():
        yield


@contextmanager
def locked(table: str) -> Iterator[None]:
    """Have another connection lock a table inside the block."""
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port", "options")
    with psycopg.connect(**{name: given[name] for name in names if name in given}) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k1"}], ids=["without a key", "with a key"])
def test_a_publication_that_waits_too_long_fails_its_write_once_and_as_a_503(
    impatient: None, headers: dict[str, str]
) -> None:
    client = client_of(UserFactory())
    chat = make_chat(client.user)
    url, body = f"/api/v1/chats/{chat.pk}/append/", {"force": True, "message": {"mes": "On we go."}}
    with locked("pgmq.q_interactive"):
        reply = client.post(url, body, **headers)
    assert (reply.status_code, reply["Content-Type"]) == (503, "application/problem+json")
    assert (reply.json()["type"], reply["Retry-After"]) == ("/problems/unavailable", "2")
    assert chat.messages.count() == 0
    assert client.post(url, body, **headers).status_code == 201
    assert chat.messages.count() == 1


def test_a_client_of_the_proxy_gets_the_503_in_its_own_form() -> None:
    client = client_of(UserFactory())

    def ask() -> Any:
        with impatience():
            return client.get("/v1/models")

    # In a thread of its own, since its view is asynchronous: a browser test may have left a loop running in this one.
    with locked("accounts_apitoken"), ThreadPoolExecutor(1) as thread:
        reply = thread.submit(ask).result()
    assert (reply.status_code, reply["Retry-After"]) == (503, "2")
    assert reply.json()["error"]["type"] == "api_error"
