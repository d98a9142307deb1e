"""The work of queues without their processes: tasks that wait are run in the test's own process."""

import base64
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.db import connection
from kombu.utils.json import loads

from config.celery import app

INVISIBLE = 600  # seconds, longer than any task of a test
PAUSE = 0.05  # seconds between two looks at queues


@cache
def load_tasks() -> None:
    """Import the modules with tasks, as a worker does when it starts."""
    app.loader.import_default_modules()


def drain(*queues: str, until: Callable[[], bool] = lambda: False) -> int:
    """Run the tasks of the queues, one after the other, until none waits or ``until`` holds. Return how many ran."""
    load_tasks()
    done = 0
    while not until() and any(_run_next(queue) for queue in queues):
        done += 1
    return done


def _run_next(queue: str) -> bool:
    """Run the task that has waited longest. Return False if none waits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT msg_id, message::text FROM pgmq.read(%s, %s, 1)", [queue, INVISIBLE])
        row = cursor.fetchone()
    if row is None:
        return False
    number, message = row[0], loads(row[1])
    args, kwargs, _ = loads(base64.b64decode(message["body"]))
    app.tasks[message["headers"]["task"]].apply(args, kwargs, throw=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pgmq.delete(%s::text, %s)", [queue, number])
    return True


@contextlib.contextmanager
def working(*queues: str) -> Iterator[None]:
    """Run the tasks of the queues in a thread of this process, as a worker does, but for those that wait already."""
    load_tasks()
    app.control.purge()
    ended = threading.Event()

    def work() -> None:
        app.set_current()  # which is of this thread alone
        try:
            while not ended.wait(PAUSE):
                drain(*queues, until=ended.is_set)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as executor:
        done = executor.submit(work)
        try:
            yield
        finally:
            ended.set()
        done.result()
