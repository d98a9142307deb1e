"""Bodies of API requests: their limits, and files that replace them."""

import tempfile
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

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


def is_multipart(request: HttpRequest) -> bool:
    """Return whether the body is a multipart form, which carries a file."""
    return request.content_type == "multipart/form-data"


def rewindable_body(request: HttpRequest) -> IO[bytes]:
    """Return the body as a seekable file at its beginning. Seek to 0 after reading, so that views can read it too."""
    if not request._stream.seekable():
        replace_body(request, request)
    return request._stream


def takes_files(path: str) -> bool:
    """Return whether the route of a path takes files as large as IMPORT_MAX_BYTES."""
    try:
        return resolve(path).view_name in settings.UPLOAD_ROUTES
    except Resolver404:
        return False


def is_upload(request: HttpRequest) -> bool:
    """Return whether the request sends a file to a route that takes large ones."""
    return is_multipart(request) and takes_files(request.path_info)


def limit_of(request: HttpRequest) -> int:
    """Return the maximum size of the body in bytes."""
    return max_bytes(is_upload=is_upload(request))


def max_bytes(*, is_upload: bool) -> int:
    """Return the maximum size of a body in bytes, with that of a form around a file."""
    return settings.IMPORT_MAX_BYTES + MULTIPART_OVERHEAD_BYTES if is_upload else settings.REQUEST_MAX_BYTES


def too_large(request: HttpRequest) -> TooLarge:
    if is_upload(request):
        return TooLarge(f"The file is larger than {settings.IMPORT_MAX_BYTES} bytes.")
    return TooLarge(f"The body is larger than {settings.REQUEST_MAX_BYTES} bytes.")


def replace_body(request: HttpRequest, source: Any, count: Callable[[int], None] | None = None) -> None:
    """Replace the body with the content of ``source`` and set its length. Raise TooLarge, BadEncoding.

    ``count`` is called with the size that has been read so far, and may raise.
    """
    body = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - the request closes it
    size = _copy(source, body, limit_of(request), count)
    if size > limit_of(request):
        body.close()
        raise too_large(request)
    body.seek(0)
    request._stream = cast(BinaryIO, body)
    request._read_started = False  # type: ignore[attr-defined]
    request.META["CONTENT_LENGTH"] = str(size)
    request.META.pop("HTTP_CONTENT_ENCODING", None)


def _copy(source: Any, target: IO[bytes], limit: int, count: Callable[[int], None] | None) -> int:
    """Copy ``source``, but stop within one chunk after ``limit`` bytes. Return the number of bytes written."""
    size = 0
    try:
        while size <= limit and (chunk := source.read(CHUNK_BYTES)):
            size += target.write(chunk)
            if count:
                count(size)
    except (OSError, EOFError, zlib.error) as error:
        raise BadEncoding(f"The body can't be decompressed: {error}.") from None
    return size
