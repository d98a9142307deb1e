"""Shorter waits for what processes look for again and again, in tests that sit through them.

Their proportions are those of the apps: a page whose stream has ended keeps its call for longer than from beat to beat.
"""

import datetime as dt
from importlib import import_module
from typing import Any

from django.apps import AppConfig

WAITS: dict[str, Any] = {
    "apps.llm.backends.browser.POLL_INTERVAL": 0.05,
    "apps.llm.browser.calls.GRACE": dt.timedelta(seconds=2),
    "apps.llm.browser.streams.POLL_INTERVAL": 0.1,
    "apps.llm.browser.streams.RETRY": b"retry: 300\n\n",
    "apps.llm.http.transport.TICK": 0.1,
    "apps.replies.streams.POLL_INTERVAL": 0.1,
}


class ShortWaits(AppConfig):
    """Has a process that a test starts wait so."""

    name = "tests"
    label = "short_waits"

    def ready(self) -> None:
        for path, value in WAITS.items():
            module, _, name = path.rpartition(".")
            setattr(import_module(module), name, value)
