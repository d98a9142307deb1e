"""Run coroutines, and requests to asynchronous views, in tests."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

T = TypeVar("T")
TIMEOUT = 180  # seconds, on a busy machine


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread of its own: browser tests leave a loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result(TIMEOUT)  # noqa: TID251


def call_in_thread(work: Callable[[], T]) -> T:
    """Call a function that runs a loop of its own, such as a request to an asynchronous view, in a thread."""

    def run() -> T:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(run).result(TIMEOUT)
