"""Middleware for bodies of API requests: size limits and gzip decoding."""

import gzip
import tempfile
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.common.problem_responses import problem_response
from apps.common.problems import Problem, ProblemType, TooLarge

API_PREFIX = "/api/v1/"
# Maximum size of a multipart body without its file: other fields and boundaries.
MULTIPART_OVERHEAD_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
SPOOL_BYTES = 4 * 1024 * 1024  # larger bodies are buffered in a temporary file


class BadEncoding(Problem):
    """The body does not match its Content-Encoding."""

    type = ProblemType.BAD_REQUEST
    title = "The body can't be decompressed"


class UnknownEncoding(Problem):
    """The Content-Encoding is not supported. The response lists the supported ones, as RFC 9110 requires."""

    status = 415
    type = ProblemType.UNSUPPORTED_MEDIA_TYPE
    title = "Unsupported content encoding"

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept-Encoding": "gzip, identity"}


class RequestBodyMiddleware:
    """Refuse bodies above their limit and decompress gzip, in bounded memory."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(API_PREFIX):
            try:
                _prepare_body(request)
            except Problem as problem:
                return problem_response(problem)
        return self.get_response(request)


def is_multipart(request: HttpRequest) -> bool:
    """Return whether the body is a multipart form, which carries a file."""
    return request.content_type == "multipart/form-data"


def rewindable_body(request: HttpRequest) -> IO[bytes]:
    """Return the body as a seekable file at its beginning. Seek to 0 after reading, so that views can read it too."""
    if not request._stream.seekable():
        _replace_body(request, request)
    return request._stream


def _prepare_body(request: HttpRequest) -> None:
    """Check and decode the body. Raise TooLarge, BadEncoding, UnknownEncoding."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnknownEncoding(f"The encoding {encoding[:40]!r} is not supported. Send gzip, or no encoding.")
    if _declared_length(request) > _limit(request):
        raise _too_large(request)
    if encoding.endswith("gzip"):
        with gzip.GzipFile(fileobj=request, mode="rb") as source:  # type: ignore[call-overload]
            _replace_body(request, source)
    elif "HTTP_TRANSFER_ENCODING" in request.META:
        _replace_body(request, request)  # a chunked body has no Content-Length


def _limit(request: HttpRequest) -> int:
    """Return the maximum size of the body in bytes."""
    if is_multipart(request):
        return settings.IMPORT_MAX_BYTES + MULTIPART_OVERHEAD_BYTES
    return settings.REQUEST_MAX_BYTES


def _declared_length(request: HttpRequest) -> int:
    """Return the Content-Length, or 0 if there is none."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def _too_large(request: HttpRequest) -> TooLarge:
    if is_multipart(request):
        return TooLarge(f"The file is larger than {settings.IMPORT_MAX_BYTES} bytes.")
    return TooLarge(f"The body is larger than {settings.REQUEST_MAX_BYTES} bytes.")


def _replace_body(request: HttpRequest, source: Any) -> None:
    """Replace the body with the content of ``source`` and set its length. Raise TooLarge, BadEncoding."""
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
    """Copy ``source``, but stop within one chunk after ``limit`` bytes. Return the number of bytes written."""
    size = 0
    try:
        while size <= limit and (chunk := source.read(CHUNK_BYTES)):
            size += target.write(chunk)
    except (OSError, EOFError, zlib.error) as error:
        raise BadEncoding(f"The body can't be decompressed: {error}.") from None
    return size
