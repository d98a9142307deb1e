"""The work of queues without their processes: tasks that wait are run in the test's own process."""

import base64
from collections.abc import Callable

from celery import current_app
from django.db import connection
from kombu.utils.json import loads

INVISIBLE = 600  # seconds, longer than any task of a test


def drain(*queues: str, until: Callable[[], bool] = lambda: False) -> int:
    """Run the tasks of the queues, one after the other, until none waits or ``until`` holds. Return how many ran."""
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
    current_app.tasks[message["headers"]["task"]].apply(args, kwargs, throw=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pgmq.delete(%s::text, %s)", [queue, number])
    return True
