"""Counters of what happens, for the whole installation: all processes add theirs to one table every few seconds.

A sample is named as Prometheus writes it, labels included. Nothing is counted without ``METRICS_TOKEN``.
"""

import atexit
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

FLUSH_INTERVAL = 5.0  # seconds; what a process counted since is lost if it is killed
BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # seconds
ADD = """
    INSERT INTO common_metric AS kept (sample, value) SELECT * FROM unnest(%s::text[], %s::float8[]) AS new ORDER BY 1
    ON CONFLICT (sample) DO UPDATE SET value = kept.value + excluded.value
"""

_counted: Counter[str] = Counter()
_lock = threading.Lock()
_flushed_at = time.monotonic()


def sample(name: str, **labels: object) -> str:
    """Return the name of a sample with its labels."""
    if not labels:
        return name
    return name + "{" + ",".join(f'{label}="{_escaped(str(value))}"' for label, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def count(name: str, number: float = 1, **labels: object) -> None:
    """Add to a counter."""
    if settings.METRICS_TOKEN and number:
        with _lock:
            _counted[sample(name, **labels)] += number  # type: ignore[assignment]


def observe(name: str, seconds: float, **labels: object) -> None:
    """Add a duration to a histogram."""
    for bucket in BUCKETS:
        if seconds <= bucket:
            count(f"{name}_bucket", 1, **labels, le=bucket)
    count(f"{name}_bucket", 1, **labels, le="+Inf")
    count(f"{name}_count", 1, **labels)
    count(f"{name}_sum", seconds, **labels)


@contextmanager
def timed(name: str, **labels: object) -> Iterator[None]:
    """Add the duration of the block to a histogram."""
    started = time.perf_counter()
    try:
        yield
    finally:
        observe(name, time.perf_counter() - started, **labels)


def flush(*, is_due: bool = True, **kwargs: Any) -> None:
    """Add what was counted to the table, outside of any transaction. If the database is down, try again later."""
    global _flushed_at, _counted
    if not is_due and time.monotonic() - _flushed_at < FLUSH_INTERVAL:
        return
    with _lock:
        taken, _counted, _flushed_at = _counted, Counter(), time.monotonic()
    if not taken:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(ADD, [list(taken.keys()), [float(value) for value in taken.values()]])
    except (DatabaseError, InterfaceError):
        with _lock:
            _counted.update(taken)


def flush_if_due(**kwargs: Any) -> None:
    """Receive Celery's ``task_postrun``: flush if the last time is some seconds ago."""
    flush(is_due=False)


atexit.register(lambda: flush() if _counted else None)
