"""Requests and replies. Does no I/O."""

import gzip
import json
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias, TypeVar

GZIP_FROM = 64_000  # bytes; compressing less saves little

T = TypeVar("T")


@dataclass(frozen=True)
class Upload:
    """A file to stream as multipart form data, with the other fields of the form."""

    file: BinaryIO
    filename: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """A request to the API.

    ``path`` is relative to ``/api/v1/``. ``repeatable`` means that it can be sent again after a failure. ``after`` is
    the number of seconds to wait before it is sent.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    upload: Upload | None = None
    repeatable: bool = True
    after: float = 0.0

    @property
    def key(self) -> str | None:
        return self.headers.get("Idempotency-Key")


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes = b""


# A generator that yields each request, is sent its reply, and returns a result. The client that runs it does the I/O,
# so that flows are shared by the blocking and the asyncio client.
Flow: TypeAlias = Generator[Request, Reply, T]


def read(path: str, **query: Any) -> Request:
    """Return a GET request. Parameters that are None are left out of the query."""
    return Request("GET", path, {name: str(value) for name, value in query.items() if value is not None})


def write(
    method: str,
    path: str,
    body: Any = None,
    *,
    key: str | None = None,
    content_type: str = "application/json",
    **query: Any,
) -> Request:
    """Return a write that is repeatable by its Idempotency-Key: ``key``, or a new one.

    Parameters of the query that are None are left out.
    """
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    parameters = {name: str(value) for name, value in query.items() if value is not None}
    if body is None:
        return Request(method, path, parameters, headers)
    content = encoded(body)
    headers["Content-Type"] = content_type
    if len(content) >= GZIP_FROM:
        content = gzip.compress(content, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Request(method, path, parameters, headers, content)


def send_file(path: str, upload: Upload, *, key: str | None = None) -> Request:
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    return Request("POST", path, headers=headers, upload=upload, repeatable=upload.file.seekable())


def encoded(body: Any) -> bytes:
    """Return JSON in UTF-8. Lone surrogates are escaped, so that the server can name their field in its error."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
