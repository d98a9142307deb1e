"""Requests that the live server in this process has under way, which tests of the same process must not notice."""

import threading
import time
from typing import Any

from django.core.signals import request_finished, request_started
from django.test.signals import template_rendered

# They last as long as their page, and notice some time later that it is closed.
STREAMS = "/events/"


class RequestsUnderWay:
    """Counts requests by the thread that answers each.

    Those of the main thread are of Django's test client, which answers them itself. Asynchronous ones have no thread
    of their own: one that begins in a thread may be reported as finished in another.
    """

    def __init__(self) -> None:
        self._paths: dict[threading.Thread, str] = {}
        request_started.connect(self._started)
        request_finished.connect(self._finished)

    def _started(self, environ: dict[str, Any] | None = None, **kwargs: Any) -> None:
        thread = threading.current_thread()
        if environ is not None and thread is not threading.main_thread():
            self._paths[thread] = environ.get("PATH_INFO", "")

    def _finished(self, **kwargs: Any) -> None:
        self._paths.pop(threading.current_thread(), None)

    def wait_for_none(self, seconds: float) -> None:
        """Wait until every request but streams has been answered, at most so long."""
        deadline = time.monotonic() + seconds
        while self._under_way() and time.monotonic() < deadline:
            time.sleep(0.01)

    def _under_way(self) -> list[str]:
        # A request whose reader has gone is never reported as finished: its thread just ends.
        self._paths = {thread: path for thread, path in self._paths.copy().items() if thread.is_alive()}
        return [path for path in self._paths.values() if not path.endswith(STREAMS)]


def keep_templates_apart() -> None:
    """Have Django's test client see only what the main thread renders.

    The client takes whatever the process renders for a part of its response: a stream that the live server ends after
    its page is closed rendered another form into the response of the next test.
    """
    send = template_rendered.send

    def send_from_main_thread(*args: Any, **kwargs: Any) -> Any:
        return send(*args, **kwargs) if threading.current_thread() is threading.main_thread() else []

    template_rendered.send = send_from_main_thread


requests_under_way = RequestsUnderWay()
