"""Convert exceptions to problem responses: exception handler of REST framework, and error handlers of Django."""

import http
import sys
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404
from django.utils.module_loading import import_string
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from apps.common.database.errors import DiskFull, Unavailable, unavailable_after
from apps.common.metrics import count
from apps.common.problems import FieldError, Invalid, Problem, ProblemType, TooLarge, pointer_of

CONTENT_TYPE = "application/problem+json"


def field_errors(detail: Any, path: tuple[str | int, ...] = ()) -> list[FieldError]:
    """Flatten a REST framework error tree into errors with pointers."""
    if isinstance(detail, Mapping):
        pairs = [(() if key == "non_field_errors" else (key,), value) for key, value in detail.items()]
        return [error for key, value in pairs for error in field_errors(value, (*path, *key))]
    if isinstance(detail, list | tuple):
        if all(isinstance(item, str) for item in detail):
            return [FieldError(pointer_of(path), _text_of(item)) for item in detail]
        return [error for i, item in enumerate(detail) for error in field_errors(item, (*path, i))]
    return [FieldError(pointer_of(path), _text_of(detail))]


def _text_of(detail: Any) -> str:
    """Return an error's text. The one about a body that is null is none of ``error_messages``."""
    return "It must be an object." if detail == "No data provided" else str(detail)


_TYPES_BY_STATUS = {
    400: ProblemType.BAD_REQUEST,
    401: ProblemType.NOT_AUTHENTICATED,
    403: ProblemType.FORBIDDEN,
    404: ProblemType.NOT_FOUND,
    405: ProblemType.METHOD_NOT_ALLOWED,
    406: ProblemType.NOT_ACCEPTABLE,
    413: ProblemType.TOO_LARGE,
    415: ProblemType.UNSUPPORTED_MEDIA_TYPE,
    429: ProblemType.THROTTLED,
    500: ProblemType.INTERNAL_ERROR,
}


def problem_document(status: int, detail: str) -> dict[str, Any]:
    """Return the problem document of an HTTP status."""
    return {
        "type": str(_TYPES_BY_STATUS.get(status, ProblemType.UNSPECIFIED)),  # other renderers know no enum
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Return the problem response for an exception in a view, or None to report it as a server error."""
    if isinstance(exc, Problem):
        set_rollback()
        return _respond(exc.document(), exc.headers)
    if isinstance(exc, RequestDataTooBig | TooManyFilesSent):
        exc = TooLarge("The body is too large.")
        return _respond(exc.document(), {})
    if isinstance(exc, exceptions.ValidationError):
        set_rollback()
        errors = field_errors(exc.detail)
        return _respond(Invalid(errors[0].detail if errors else "Not valid.", errors=errors).document(), {})
    response = drf_exception_handler(exc, context)
    if response is None:
        return None
    headers = {name: response[name] for name in ("WWW-Authenticate", "Retry-After", "Allow") if name in response}
    return _respond(problem_document(response.status_code, _detail_of(exc, context)), headers)


def _detail_of(exc: Exception, context: dict[str, Any]) -> str:
    if isinstance(exc, exceptions.UnsupportedMediaType):
        return f"The body must be {' or '.join(parser.media_type for parser in context['view'].get_parsers())}."
    if isinstance(exc, exceptions.APIException):
        return str(exc.detail)
    if isinstance(exc, Http404):
        return "This does not exist."
    return str(exc) if isinstance(exc, PermissionDenied) and str(exc) else "You may not do that."


def _respond(document: dict[str, Any], headers: dict[str, str]) -> Response:
    count("loci_problems_total", type=str(document["type"]))
    return Response(document, status=document["status"], headers=headers, content_type=CONTENT_TYPE)


def problem_response(problem: Problem) -> HttpResponse:
    """Return the response for a problem that is raised outside REST framework's views."""
    return JsonResponse(problem.document(), status=problem.status, headers=problem.headers, content_type=CONTENT_TYPE)


def refusal(path: str, problem: Problem) -> HttpResponse:
    """Return the response for a problem of any path, in the form that its clients expect."""
    form = next((form for prefix, form in settings.ERROR_FORMS.items() if path.startswith(prefix)), None)
    response: HttpResponse = import_string(form)(problem) if form else _text_response(problem)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def _text_response(problem: Problem) -> HttpResponse:
    return HttpResponse(problem.detail, status=problem.status, content_type="text/plain; charset=utf-8")


# Django's error handlers: a problem document under /api/, else an HTML page


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the response for a malformed request."""
    return _api_problem(request, 400, "The request is malformed.") or defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the response for a forbidden request."""
    return _api_problem(request, 403, "You may not do that.") or defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the response for an unknown path or resource."""
    detail = "This does not exist."
    if isinstance(exception, Resolver404):
        detail += " /api/docs/ lists the addresses that there are."
    return _api_problem(request, 404, detail) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the response for an unhandled exception: a 503 if the database can't answer now."""
    if problem := unavailable_after(sys.exception()):
        return unavailable(request, problem)
    detail = "An internal error. Stored data is not affected."
    return _api_problem(request, 500, detail) or defaults.server_error(request)


def unavailable(request: HttpRequest, problem: Unavailable) -> HttpResponse:
    """Return the 503 for a database that can't answer now."""
    if request.path.startswith(tuple(settings.ERROR_FORMS)):
        return refusal(request.path, problem)
    is_full = isinstance(problem, DiskFull)
    response = defaults.server_error(request, template_name="disk_full.html" if is_full else "500.html")
    response.status_code = problem.status
    for name, value in problem.headers.items():
        response[name] = value
    return response


def _api_problem(request: HttpRequest, status: int, detail: str) -> HttpResponse | None:
    """Return a problem response for a path of the API, else None."""
    if not request.path.startswith("/api/"):
        return None
    return JsonResponse(problem_document(status, detail), status=status, content_type=CONTENT_TYPE)
