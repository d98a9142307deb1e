"""From errors to replies: for the API through REST framework's hook, and for requests that never reach a view."""

import http
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from apps.common.problems import FieldError, Invalid, Problem, TooLarge, pointer_of

CONTENT_TYPE = "application/problem+json"


def field_errors(detail: Any, path: tuple[str | int, ...] = ()) -> list[FieldError]:
    """A REST framework error tree, flattened to pointers."""
    if isinstance(detail, Mapping):
        pairs = [(() if key == "non_field_errors" else (key,), value) for key, value in detail.items()]
        return [error for key, value in pairs for error in field_errors(value, (*path, *key))]
    if isinstance(detail, list | tuple):
        if all(isinstance(item, str) for item in detail):
            return [FieldError(pointer_of(path), str(item)) for item in detail]
        return [error for i, item in enumerate(detail) for error in field_errors(item, (*path, i))]
    return [FieldError(pointer_of(path), str(detail))]


_TYPES = {
    400: "/problems/bad-request",
    401: "/problems/not-authenticated",
    403: "/problems/forbidden",
    404: "/problems/not-found",
    405: "/problems/method-not-allowed",
    406: "/problems/not-acceptable",
    413: "/problems/too-large",
    415: "/problems/unsupported-media-type",
    429: "/problems/throttled",
    500: "/problems/internal-error",
}


def problem_document(status: int, detail: str) -> dict[str, Any]:
    return {
        "type": _TYPES.get(status, "about:blank"),
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's hook: every error that has a reply becomes a problem document."""
    if isinstance(exc, Problem):
        set_rollback()
        return _respond(exc.document(), exc.headers)
    if isinstance(exc, RequestDataTooBig | TooManyFilesSent):
        exc = TooLarge("The body is larger than is accepted.")
        return _respond(exc.document(), {})
    if isinstance(exc, exceptions.ValidationError):
        set_rollback()
        errors = field_errors(exc.detail)
        return _respond(Invalid(errors[0].detail if errors else "Not valid.", errors=errors).document(), {})
    reply = drf_exception_handler(exc, context)
    if reply is None:
        return None
    headers = {name: reply[name] for name in ("WWW-Authenticate", "Retry-After", "Allow") if name in reply}
    return _respond(problem_document(reply.status_code, _detail_of(exc)), headers)


def _detail_of(exc: Exception) -> str:
    if isinstance(exc, exceptions.APIException):
        return str(exc.detail)
    if isinstance(exc, Http404):
        return "There is no such thing here."
    return str(exc) if isinstance(exc, PermissionDenied) and str(exc) else "You may not do that."


def _respond(document: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(document, status=document["status"], headers=headers, content_type=CONTENT_TYPE)


def problem_reply(problem: Problem) -> HttpResponse:
    """The reply to an error that is raised outside a view of REST framework."""
    return JsonResponse(problem.document(), status=problem.status, headers=problem.headers, content_type=CONTENT_TYPE)


# Error pages: a problem document below /api/, a page for a person.


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, 400, "The request can't be read.") or defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, 403, "You may not do that.") or defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, 404, "There is no such thing here.") or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    detail = "This is our fault. What was stored before is safe."
    return _problem(request, 500, detail) or defaults.server_error(request)


def _problem(request: HttpRequest, status: int, detail: str) -> HttpResponse | None:
    if not request.path.startswith("/api/"):
        return None
    return JsonResponse(problem_document(status, detail), status=status, content_type=CONTENT_TYPE)
