"""Middleware that repeats requests that failed because of another one.

Postgres has rolled its transaction back for the sake of the other one, or the other one deleted what it had read.
"""

import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, IntegrityError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.permissions import SAFE_METHODS

from apps.common.request_bodies import API_PREFIX, rewindable_body

DEADLOCK_DETECTED, SERIALIZATION_FAILURE, FOREIGN_KEY_VIOLATION = "40P01", "40001", "23503"
# Seconds before the repetition. A repetition at once may lock again what the other transaction is about to lock.
PAUSE = 0.1


class RolledBack(HttpResponse):
    """Stands for the response to a request that is to be repeated. It is never sent."""

    status_code = 503


class RetryMiddleware:
    """Repeat a request once after a deadlock or a serialization failure, or if a row that it had read is gone.

    Of a row that is gone, the view then says so, with a 404 for example. To repeat is safe since a view writes in one
    transaction, of which nothing is left then. It must precede the middleware of idempotency keys, which opens a
    transaction around the view.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        has_body = request.method not in SAFE_METHODS and request.path.startswith(API_PREFIX)
        body = rewindable_body(request) if has_body else None
        request.can_be_repeated = True  # type: ignore[attr-defined]
        response = self.get_response(request)
        if not isinstance(response, RolledBack):
            return response
        if body is not None:
            body.seek(0)
            request._read_started = False  # type: ignore[attr-defined]
        request.can_be_repeated = False  # type: ignore[attr-defined]
        time.sleep(PAUSE)
        return self.get_response(request)

    def process_exception(self, request: Any, exception: Exception) -> HttpResponse | None:
        """Return RolledBack for an exception of the view after which the request is repeated."""
        return repetition_after(request, exception)


def repetition_after(request: Any, exception: Exception) -> RolledBack | None:
    """Return RolledBack if the request is to be repeated after an exception that left nothing written, else None."""
    repeats = request.can_be_repeated and (is_rolled_back(exception) or is_row_gone(exception))
    return RolledBack() if repeats else None


def is_rolled_back(exception: Exception) -> bool:
    """Return whether Postgres rolled the transaction back because of others, so that it may succeed if repeated."""
    state = getattr(exception.__cause__, "sqlstate", None)
    return isinstance(exception, OperationalError) and state in (DEADLOCK_DETECTED, SERIALIZATION_FAILURE)


def is_row_gone(exception: Exception) -> bool:
    """Return whether a write failed because a row that was read before, and is updated or referred to, is gone."""
    if isinstance(exception, IntegrityError):
        return getattr(exception.__cause__, "sqlstate", None) == FOREIGN_KEY_VIOLATION
    # The only error of this class itself is that of ``save(update_fields=...)`` if it updates no row.
    return type(exception) is DatabaseError
