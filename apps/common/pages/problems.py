"""Pages for problems that a view of a page does not treat itself."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from apps.common.api.problems import refusal
from apps.common.problems import Problem


class ProblemPageMiddleware:
    """Say what the problem is, as a message on the page that htmx shows, else as a page of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the response for a problem."""
        if not isinstance(exception, Problem):
            return None
        if request.path.startswith(tuple(settings.ERROR_FORMS)):
            return refusal(request.path, exception)
        if "HX-Request" not in request.headers:
            return render(request, "problem.html", {"problem": exception}, status=exception.status)
        messages.error(request, exception.detail)
        response = render(request, "components/toasts.html", status=exception.status)
        response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "outerHTML"
        return response
