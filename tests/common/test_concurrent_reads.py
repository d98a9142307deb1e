"""Reads that run at the same time: their answers, their errors, and what they may see."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, get_ident
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DataError, InterfaceError, connection, connections, transaction

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import create_chat
from apps.common.database import concurrent_reads
from apps.common.database.concurrent_reads import MAX_THREADS, read_concurrently
from apps.common.database.restriction import restricted_to

pytestmark = pytest.mark.usefixtures("connection_pool")

TIMEOUT = 60  # seconds; a barrier that not all reads reach is broken then


def backend() -> int:
    """Return the number of the server's process that serves this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def refused() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


def test_reads_run_at_the_same_time_on_connections_of_their_own():
    barrier = Barrier(1 + MAX_THREADS)

    def read() -> tuple[int, int]:
        barrier.wait(TIMEOUT)
        found = get_ident(), backend()
        barrier.wait(TIMEOUT)
        return found

    answers = read_concurrently(*[read] * (1 + MAX_THREADS))
    assert answers[0][0] == get_ident()
    assert len({thread for thread, _ in answers}) == len({pid for _, pid in answers}) == 1 + MAX_THREADS


def test_more_reads_than_threads_run_here():
    assert read_concurrently(*[lambda number=number: number for number in range(20)]) == list(range(20))


def test_reads_within_reads_do_not_wait_for_each_other():
    inner = lambda: sum(read_concurrently(*[lambda: 1] * 3))  # noqa: E731

    def request() -> list[int]:
        try:
            backend()
            return read_concurrently(*[inner] * 3)
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as requests:
        answers = [requests.submit(request) for _ in range(100)]
        assert [each.result(TIMEOUT) for each in answers] == [[3, 3, 3]] * 100


def test_a_transaction_sees_its_own_writes():
    with transaction.atomic():
        owner = User.objects.create_user("alice@example.com")
        create_chat(owner, title="One")
        titles = lambda: list(Chat.objects.for_owner(owner).values_list("title", flat=True))  # noqa: E731
        assert read_concurrently(titles, titles) == [["One"], ["One"]]


def test_all_reads_are_restricted_to_the_same_owner():
    alice, bob = (User.objects.create_user(f"{name}@example.com") for name in ("alice", "bob"))
    for owner in (alice, bob):
        create_chat(owner, title=owner.email)

    def titles() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT title FROM chats_chat")
            return [title for (title,) in cursor.fetchall()]

    with restricted_to(bob.pk):
        assert read_concurrently(titles, titles, titles) == [[bob.email]] * 3
    assert sorted(read_concurrently(titles, titles)[1]) == [alice.email, bob.email]


@pytest.mark.parametrize("size", [1, 2, 8])
def test_requests_that_have_given_their_connections_back_do_not_wait_for_each_other(size: int):
    """As after the call of a remote embedding model. All have a connection again before other reads want one."""
    connection.close()
    connection.close_pool()
    connections.settings["default"]["OPTIONS"]["pool"].update(max_size=size, timeout=1)
    everybody = Barrier(min(size, MAX_THREADS))

    def request() -> list[int]:
        have_connection = Event()

        def first() -> int:
            pid = backend()
            everybody.wait(TIMEOUT)
            have_connection.set()
            return pid

        def other() -> int:
            assert have_connection.wait(TIMEOUT)
            return backend()

        try:
            connection.ensure_connection()
            everybody.wait(TIMEOUT)
            connection.close()
            everybody.wait(TIMEOUT)
            return read_concurrently(first, other)
        finally:
            connection.close()

    with ThreadPoolExecutor(everybody.parties) as requests:
        answers = [requests.submit(request) for _ in range(everybody.parties)]
        assert [len(each.result(TIMEOUT)) for each in answers] == [2] * everybody.parties


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_reaches_the_caller_after_all_reads_have_ended(failing: int):
    ended: list[int] = []

    def read(number: int) -> None:
        if number == failing:
            refused()
        backend()
        ended.append(number)

    with pytest.raises(DataError):
        read_concurrently(*[lambda number=number: read(number) for number in range(3)])
    at_once = list(ended)
    assert read_concurrently(backend, backend)  # threads and connections are as good as before
    assert ended == at_once


def test_threads_stay_in_use_after_connections_that_could_not_be_given_back(monkeypatch: pytest.MonkeyPatch):
    def refuse() -> None:
        raise InterfaceError

    broken = SimpleNamespace(all=connections.all, close_all=refuse)
    with monkeypatch.context() as patch:
        patch.setattr(concurrent_reads, "connections", broken)
        for _ in range(MAX_THREADS):
            with pytest.raises(InterfaceError):
                read_concurrently(backend, backend)
    test_reads_run_at_the_same_time_on_connections_of_their_own()
