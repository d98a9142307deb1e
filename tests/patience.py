"""Have Playwright look ten times a second for what a test expects of a page, for as long as a slow machine may take.

Of a timeout above two and a half seconds it makes two looks a second, so that a test notices late what came at once.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from playwright.sync_api import LocatorAssertions, PageAssertions, expect

LOOKS = 2_400  # milliseconds, of one call of Playwright's
PATIENCE = 60.0  # seconds; what is expected comes within one second where the cores are free


def look_often() -> None:
    """Repeat each expectation until it holds, unless a test names a timeout of its own."""
    expect.set_options(timeout=LOOKS)
    for assertions in (LocatorAssertions, PageAssertions):
        for name, method in vars(assertions).copy().items():
            if name.startswith(("to_", "not_to_")):
                setattr(assertions, name, _patient(method))


def _patient(method: Callable[..., None]) -> Callable[..., None]:
    @wraps(method)
    def expect_patiently(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        deadline = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            try:
                return method(*args, **kwargs)
            except AssertionError:
                now = time.monotonic()
                # What fails sooner will not hold later: the page is closed, or the locator fits several elements.
                is_final = now - began < LOOKS / 2000 or now > deadline
                if is_final or "timeout" in kwargs:
                    raise

    return expect_patiently
