"""Middleware that keeps replies with private text out of caches."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

API_PREFIXES = ("/api/v1/", "/v1/")


class NoStoreMiddleware:
    """Forbid browsers and proxies to store replies of the API, except those that say how long they may be stored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith(API_PREFIXES):
            response.setdefault("Cache-Control", "no-store")
        return response
