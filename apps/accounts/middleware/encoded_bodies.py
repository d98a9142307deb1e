"""Middleware for encoded bodies of requests: gzip and chunks. What they decode to is limited and counted."""

import gzip

from django.http import HttpRequest, HttpResponseBase

from apps.accounts.middleware.throttling import BodyCounter, user_id_of
from apps.common.api.problems import refusal
from apps.common.http.caching import API_PREFIXES
from apps.common.http.middleware import Middleware
from apps.common.http.request_bodies import is_upload, limit_of, replace_body, too_large
from apps.common.problems import Problem, ProblemType


class UnknownEncoding(Problem):
    """The Content-Encoding is not supported. The response lists the supported ones, as RFC 9110 requires."""

    status = 415
    type = ProblemType.UNSUPPORTED_MEDIA_TYPE
    title = "Unsupported content encoding"

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept-Encoding": "gzip, identity"}


class RequestBodyMiddleware(Middleware):
    """Refuse bodies above their limit and decompress gzip, in bounded memory."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(API_PREFIXES):
            try:
                _prepare_body(request)
            except Problem as problem:
                return refusal(request.path, problem)
        return self.get_response(request)


def _prepare_body(request: HttpRequest) -> None:
    """Check and decode the body. Raise TooLarge, TooMuchData, BadEncoding, UnknownEncoding."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnknownEncoding(f"The encoding {encoding[:40]!r} is not supported. Send gzip, or no encoding.")
    if _declared_length(request) > limit_of(request):
        raise too_large(request)
    if encoding.endswith("gzip"):
        user_id = user_id_of(request)
        counter = BodyCounter(user_id, is_upload=is_upload(request)) if user_id else None
        with gzip.GzipFile(fileobj=request, mode="rb") as source:  # type: ignore[call-overload]
            # Kilobytes can become megabytes, which were not counted while the body arrived.
            replace_body(request, source, counter.count if counter else None)
    elif "HTTP_TRANSFER_ENCODING" in request.META:
        replace_body(request, request)  # a chunked body has no Content-Length


def _declared_length(request: HttpRequest) -> int:
    """Return the Content-Length, or 0 if there is none."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and len(length) < 20 else 0
