"""Pages for problems that a view of a page does not treat itself."""

import re

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.common.api.problems import refusal
from apps.common.http.middleware import Middleware
from apps.common.problems import Problem

# Of a refused form: ids, choices and tokens are single words, and a secret must not stand in a page.
_IS_PROSE = re.compile(r"\S\s+\S")
_SECRETS = ("password", "key", "secret", "code", "token")


class ProblemPageMiddleware(Middleware):
    """Say what the problem is, as a message on the page that htmx shows, else as a page of its own."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the response for a problem."""
        if not isinstance(exception, Problem):
            return None
        if request.path.startswith(tuple(settings.ERROR_FORMS)):
            return refusal(request.path, exception)
        if "HX-Request" not in request.headers:
            context = {"problem": exception, "written": written_in(request)}
            return render(request, "problem.html", context, status=exception.status)
        messages.error(request, exception.detail)
        response = render(request, "components/toasts.html", status=exception.status)
        response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "outerHTML"
        return response


def written_in(request: HttpRequest) -> list[str]:
    """Return the texts that a person wrote into a form, so that a refusal loses none of them."""
    fields = [(name, value) for name, values in request.POST.lists() for value in values]
    return [value for name, value in fields if _IS_PROSE.search(value) and not any(part in name for part in _SECRETS)]
