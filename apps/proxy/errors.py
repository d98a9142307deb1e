"""Errors in the form of OpenAI's API."""

import json
from typing import Any

from django.http import HttpResponse, JsonResponse
from rest_framework.exceptions import APIException

from apps.common.problems import Problem
from apps.llm.generation import LimitReached
from apps.llm.replies.documents import error_document, error_message_from_text

TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def error_response(error: Problem | APIException) -> HttpResponse:
    """Return the response for an error of ours."""
    if isinstance(error, APIException):
        response = openai_error(error.status_code, str(error.detail))
        if error.status_code == 401:
            response["WWW-Authenticate"] = 'Bearer realm="loci"'
        return response
    param = error.errors[0].pointer.lstrip("/") if error.errors else None
    code = "insufficient_quota" if isinstance(error, LimitReached) else None
    return openai_error(error.status, error.detail, param=param, code=code)


def openai_error(status: int, message: str, **fields: Any) -> HttpResponse:
    """Return an error document with its status. SDKs show ``message``."""
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    error = {"message": message, "type": kind, "param": None, "code": None} | fields
    return JsonResponse({"error": error}, status=status)


def upstream_error(status: int, text: str, retry_after: str = "") -> HttpResponse:
    """Return an error of the upstream, with its ``Retry-After``, and its own document if that has OpenAI's form."""
    response = _upstream_document(status, text)
    if retry_after:
        response["Retry-After"] = retry_after
    return response


def _upstream_document(status: int, text: str) -> HttpResponse:
    if not 400 <= status < 600:
        return openai_error(502, f"The model server answered with the status {status}.")
    document = error_document(text)
    if isinstance(document.get("error"), dict):
        return HttpResponse(json.dumps(document), status=status, content_type="application/json")
    return openai_error(status, error_message_from_text(text) or f"The model server answered with {status}.")
