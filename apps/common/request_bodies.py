"""The bodies of API requests before anybody reads them: unpacked, and within their limits."""

import gzip
import tempfile
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.common.problem_replies import problem_reply
from apps.common.problems import Problem, TooLarge

API = "/api/v1/"
# What the other fields and the boundaries of a multipart body may take beside the file.
ENVELOPE_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
SPOOL_BYTES = 4 * 1024 * 1024  # a body that unpacks to more goes to a temporary file


class BadEncoding(Problem):
    type = "/problems/bad-request"
    title = "The body can't be unpacked"


class UnknownEncoding(Problem):
    """Names the encodings that are accepted, as RFC 9110 wants it."""

    status = 415
    type = "/problems/unsupported-media-type"
    title = "Unsupported content encoding"

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept-Encoding": "gzip, identity"}


class RequestBodyMiddleware:
    """Refuses bodies past their limit and unpacks those with ``Content-Encoding: gzip``, in bounded memory."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(API):
            try:
                _prepare(request)
            except Problem as problem:
                return problem_reply(problem)
        return self.get_response(request)


def is_multipart(request: HttpRequest) -> bool:
    return request.content_type == "multipart/form-data"


def rewindable_body(request: HttpRequest) -> IO[bytes]:
    """The body as a file, at its beginning. Whoever reads it rewinds it, and the request is as if never read."""
    if not request._stream.seekable():
        _replace(request, request)
    return request._stream


def _prepare(request: HttpRequest) -> None:
    """Raises TooLarge, BadEncoding, UnknownEncoding."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnknownEncoding(f"The encoding {encoding[:40]!r} is not supported. Send gzip, or the body as it is.")
    if _declared_length(request) > _limit(request):
        raise _too_large(request)
    if encoding.endswith("gzip"):
        with gzip.GzipFile(fileobj=request, mode="rb") as source:  # type: ignore[call-overload]
            _replace(request, source)
    elif "HTTP_TRANSFER_ENCODING" in request.META:
        _replace(request, request)  # of a length that only its end tells


def _limit(request: HttpRequest) -> int:
    """In bytes."""
    if is_multipart(request):
        return settings.IMPORT_MAX_BYTES + ENVELOPE_BYTES
    return settings.REQUEST_MAX_BYTES


def _declared_length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def _too_large(request: HttpRequest) -> TooLarge:
    if is_multipart(request):
        return TooLarge(f"The file is larger than {settings.IMPORT_MAX_BYTES} bytes.")
    return TooLarge(f"The body is larger than {settings.REQUEST_MAX_BYTES} bytes.")


def _replace(request: HttpRequest, source: Any) -> None:
    """Put all of ``source`` in the place of the body, with its length. Raises TooLarge, BadEncoding."""
    body = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - the request closes it
    size = _copy(source, body, _limit(request))
    if size > _limit(request):
        body.close()
        raise _too_large(request)
    body.seek(0)
    request._stream = cast(BinaryIO, body)
    request._read_started = False  # type: ignore[attr-defined]
    request.META["CONTENT_LENGTH"] = str(size)
    request.META.pop("HTTP_CONTENT_ENCODING", None)


def _copy(source: Any, target: IO[bytes], limit: int) -> int:
    """How many bytes were written; it stops soon after ``limit``."""
    size = 0
    try:
        while size <= limit and (chunk := source.read(CHUNK_BYTES)):
            size += target.write(chunk)
    except (OSError, EOFError, zlib.error) as error:
        raise BadEncoding(f"The body can't be unpacked: {error}.") from None
    return size
