"""Run coroutines in tests."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
TIMEOUT = 180  # seconds, on a busy machine


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread of its own: browser tests leave a loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result(TIMEOUT)  # noqa: TID251
