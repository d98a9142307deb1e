"""Times of 200 writes while somebody else's transaction, which has published a task, stays open for a minute.

The promise: none is slower than usual. The usual times are taken in the same run, before and after that minute.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
from django.db import connection, transaction

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import append_messages, create_chat
from apps.exchange.formats.sillytavern import NO_HEADER
from apps.exchange.formats.sillytavern_lines import parse_message
from benchmarks.services import installation
from benchmarks.timing import milliseconds

HELD = 60.0  # seconds for which the transaction stays open
USERS, WRITERS, WRITES = 4, 8, 200
PAUSE = 2.0  # seconds between the writes of one writer, so that all of them fill most of the minute
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand."
Write = Callable[[], object]


def main() -> None:
    """Write without the transaction, beside it, and without it again."""
    holder = User.objects.create_user("bench-publishing-holder@example.com")
    users = [User.objects.create_user(f"bench-publishing-{number}@example.com") for number in range(USERS)]
    with installation({"LOG_LEVEL": "ERROR"}) as (url, _), httpx.Client(timeout=2 * HELD, trust_env=False) as client:
        writers = [_writer(client, url, users[number % USERS]) for number in range(WRITERS)]
        _times(writers, pause=0)  # warms up
        before = _times(writers)
        with _published(holder) as seconds_open:
            beside = _times(writers)
            print(f"the transaction was still open after the writes, for {seconds_open():.0f} s")
            time.sleep(max(HELD - seconds_open(), 0))
            print(f"it was open for {seconds_open():.0f} s in all")
        after = _times(writers)
    for name, times in (("before", before), ("beside", beside), ("after", after)):
        p95 = statistics.quantiles(times, n=20)[-1]
        figures = f"p50 {statistics.median(times):6.1f} ms   p95 {p95:6.1f} ms   max {max(times):6.1f} ms"
        print(f"{name:6} {len(times)} writes of {USERS} users by {WRITERS} threads: {figures}")
    slower = sum(one > max(*before, *after) for one in beside)
    print(f"slower than the slowest of the usual ones: {slower} (promise: none)")


def _writer(client: httpx.Client, url: str, owner: User) -> Write:
    """Return a function that appends a message by the API to a new chat of a user."""
    headers = {"Authorization": f"Bearer {create_token(owner, name='bench')[1]}"}
    target = f"{url}/api/v1/chats/{create_chat(owner, title='Writer').pk}/append/"
    body = {"force": True, "message": {"name": "Alice", "is_user": True, "mes": TEXT}}
    return lambda: client.post(target, json=body, headers=headers).raise_for_status()


def _times(writers: Sequence[Write], pause: float = PAUSE) -> list[float]:
    """Return how long each of WRITES writes took, in milliseconds. Each writer has a thread, and its own beginning."""

    def write_on(number: int) -> list[float]:
        time.sleep(pause * number / len(writers))
        times = []
        for _ in range(WRITES // len(writers)):
            times.append(milliseconds(writers[number]))
            time.sleep(pause)
        return times

    with ThreadPoolExecutor(len(writers)) as threads:
        return [one for times in threads.map(write_on, range(len(writers))) for one in times]


@contextmanager
def _published(owner: User) -> Iterator[Callable[[], float]]:
    """Have a transaction open inside the block which has appended a message, and so has published a task.

    Yield a function that returns for how many seconds it has been open.
    """
    chat = create_chat(owner, title="Held")
    message = parse_message({"name": "Alice", "is_user": True, "mes": TEXT}, NO_HEADER, lambda warning: None)
    has_published, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                append_messages(owner, chat.pk, [message])
                has_published.set()
                may_end.wait()
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    has_published.wait(HELD)
    opened = time.monotonic()
    try:
        yield lambda: time.monotonic() - opened
    finally:
        may_end.set()
        thread.join()
