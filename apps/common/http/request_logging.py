"""Middleware that logs requests, and names the id that their lines in the log have."""

import structlog
from django.http import HttpRequest, HttpResponse
from django_structlog.middlewares import RequestMiddleware

HEADER = "X-Request-ID"


class RequestLogMiddleware(RequestMiddleware):
    """django-structlog's middleware, which also returns the id to the client: to be quoted in reports.

    Tasks that the request enqueues log the same id.
    """

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of the request."""
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id:
            response.setdefault(HEADER, str(request_id))
        super().handle_response(request, response)
