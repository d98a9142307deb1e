"""Middleware that repeats requests that failed because of others, or because the connection to the database was lost.

Postgres has rolled its transaction back for the sake of another one, another one deleted what it had read, or the
database was restarted.
"""

import time
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.permissions import SAFE_METHODS

from apps.common.api.problems import unavailable
from apps.common.database.errors import is_connection_lost, is_rolled_back, is_row_gone, unavailable_after
from apps.common.http.request_bodies import API_PREFIX, rewindable_body

KEY_HEADER = "Idempotency-Key"
# Seconds before the repetition. A repetition at once may lock again what the other transaction is about to lock.
PAUSE = 0.1
# Seconds before the repetitions after a lost connection. A restart of Postgres takes some seconds.
RECONNECTION_PAUSES = (PAUSE, 0.5, 1.0, 2.0, 4.0)


class Repetition(HttpResponse):
    """Stands for the response to a request that is to be repeated. It is never sent."""

    status_code = 503

    def __init__(self, *, is_connection_lost: bool) -> None:
        super().__init__()
        self.is_connection_lost = is_connection_lost


class RetryMiddleware:
    """Repeat a request once after a deadlock or a serialization failure, or if a row that it had read is gone.

    Of a row that is gone, the view then says so, with a 404 for example. To repeat is safe since a view writes in one
    transaction, of which nothing is left then. After a lost connection this isn't known: a read, and a write with an
    idempotency key, are repeated for some seconds, other writes get a 503. It must precede the middleware of
    idempotency keys, which opens a transaction around the view.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        has_body = request.method not in SAFE_METHODS and request.path.startswith(API_PREFIX)
        body = rewindable_body(request) if has_body else None
        request.can_be_repeated = True  # type: ignore[attr-defined]
        response = self.get_response(request)
        for pause in RECONNECTION_PAUSES:
            if not isinstance(response, Repetition):
                break
            if body is not None:
                body.seek(0)
                request._read_started = False  # type: ignore[attr-defined]
            if response.is_connection_lost:
                connection.close()
            request.can_be_repeated = (  # type: ignore[attr-defined]
                response.is_connection_lost and pause != RECONNECTION_PAUSES[-1]
            )
            time.sleep(pause)
            response = self.get_response(request)
        return response

    def process_exception(self, request: Any, exception: Exception) -> HttpResponse | None:
        """Return Repetition for an exception of the view after which the request is repeated, or a 503."""
        return response_after(request, exception)


def response_after(request: Any, exception: Exception) -> HttpResponse | None:
    """Return Repetition if the request is to be repeated after an exception, else a 503, or None for other errors."""
    if request.can_be_repeated:
        if is_rolled_back(exception) or is_row_gone(exception):
            return Repetition(is_connection_lost=False)
        if is_connection_lost(exception) and (request.method in SAFE_METHODS or KEY_HEADER in request.headers):
            return Repetition(is_connection_lost=True)
    problem = unavailable_after(exception)
    return unavailable(request, problem) if problem else None
