"""The base of middleware, which hands requests on unless a subclass does something else with them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


class Middleware:
    """Middleware for views that are not async. Override ``__call__``, or add a hook such as ``process_view``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)
