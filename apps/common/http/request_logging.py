"""Middleware that counts requests, logs them, and names the id that their lines in the log have."""

import time

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.log import log_response
from django_structlog.middlewares import RequestMiddleware

from apps.common.http.middleware import Middleware
from apps.common.metrics import count, flush, observe

HEADER = "X-Request-ID"
ERROR_HEADER = "X-Loci-Error"  # whose error a response passes on

logger = structlog.get_logger(__name__)


def log_upstream_error(request: HttpRequest, response: HttpResponse, source: str) -> None:
    """Log a warning about the error of another server that a response passes on, and name that in a header.

    Django and the middleware would log an error with a status from 500 as one of ours.
    """
    response[ERROR_HEADER] = source
    message = "the %s answered with an error: %s"
    log_response(message, source, request.path, response=response, request=request, level="warning")


class RequestLogMiddleware(RequestMiddleware):
    """django-structlog's middleware, which also returns the id to the client: to be quoted in reports.

    Tasks that the request enqueues log the same id.
    """

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of the request."""
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id:
            response.setdefault(HEADER, str(request_id))
        if ERROR_HEADER in response:
            logger.warning("request_finished", code=response.status_code, request=self.format_request(request))
            structlog.contextvars.clear_contextvars()
        else:
            super().handle_response(request, response)


class MetricsMiddleware(Middleware):
    """Count requests by view and status, and how long they take."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        view = match.view_name if match else "none"
        count("loci_requests_total", view=view, method=request.method, status=response.status_code)
        observe("loci_request_seconds", time.perf_counter() - started, view=view)
        flush(is_due=False)
        return response
