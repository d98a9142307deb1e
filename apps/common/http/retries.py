"""Middleware that repeats a request once after an error that other requests caused.

Postgres has rolled its transaction back for the sake of another one, or another one deleted what it had read.
"""

import logging
import time
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.permissions import SAFE_METHODS

from apps.common.api.problems import unavailable
from apps.common.database.errors import is_rolled_back, is_row_gone, unavailable_after
from apps.common.http.middleware import Middleware
from apps.common.http.request_bodies import API_PREFIX, rewindable_body

logger = logging.getLogger(__name__)
KEY_HEADER = "Idempotency-Key"
# Seconds before the repetition. A repetition at once may lock again what the other transaction is about to lock.
PAUSE = 0.1


class Repetition(HttpResponse):
    """Stands for the response to a request that is to be repeated. It is never sent."""

    status_code = 503


class RetryMiddleware(Middleware):
    """Repeat a request once after a deadlock or a serialization failure, or if a row that it had read is gone.

    Of a row that is gone, the view then says so, with a 404 for example. To repeat is safe since a view writes in one
    transaction, of which nothing is left then. After a lost connection this isn't known: such a request gets a 503 with
    ``Retry-After``, and the client sends it again with the same idempotency key. This must precede the middleware of
    idempotency keys, which opens a transaction around the view.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        has_body = request.method not in SAFE_METHODS and request.path.startswith((API_PREFIX, "/mem0/"))
        body = rewindable_body(request) if has_body else None
        request.can_be_repeated = True  # type: ignore[attr-defined]
        response = self.get_response(request)
        if not isinstance(response, Repetition):
            return response
        if body is not None:
            body.seek(0)
            request._read_started = False  # type: ignore[attr-defined]
        request.can_be_repeated = False  # type: ignore[attr-defined]
        time.sleep(PAUSE)
        return self.get_response(request)

    def process_exception(self, request: Any, exception: Exception) -> HttpResponse | None:
        """Return Repetition for an exception of the view after which the request is repeated, or a 503."""
        return response_after(request, exception)


def response_after(request: Any, exception: Exception) -> HttpResponse | None:
    """Return Repetition if the request is to be repeated after an exception, else a 503, or None for other errors."""
    if request.can_be_repeated and (is_rolled_back(exception) or is_row_gone(exception)):
        return Repetition()
    if is_row_gone(exception):  # other requests came in between twice
        logger.warning("A row that a repeated request had read is gone, too", exc_info=exception)
    problem = unavailable_after(exception, was_repeated=True)
    return unavailable(request, problem) if problem else None
