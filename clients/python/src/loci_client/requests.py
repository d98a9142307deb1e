"""A request and its reply, without any input or output."""

import gzip
import json
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias, TypeVar

GZIP_FROM = 64_000  # bytes; below, packing gains little

T = TypeVar("T")


@dataclass(frozen=True)
class Upload:
    """A file to be sent as multipart, read as it goes out, with the form's other fields."""

    file: BinaryIO
    filename: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """``path`` is relative to ``/api/v1/``. ``repeatable`` says whether sending it twice does what sending it once
    does. ``after`` is how many seconds to wait before it is sent."""

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


# A conversation with the server: yields each request, is sent its reply, and returns what came of it all.
# Whoever runs it does the input and output, blocking or not.
Flow: TypeAlias = Generator[Request, Reply, T]


def read(path: str, **query: Any) -> Request:
    """A GET; what is None is left out of the query."""
    return Request("GET", path, {name: str(value) for name, value in query.items() if value is not None})


def write(
    method: str, path: str, body: Any = None, *, key: str | None = None, content_type: str = "application/json"
) -> Request:
    """A write that can be repeated, since it carries an Idempotency-Key; one of its own unless ``key`` is given."""
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    if body is None:
        return Request(method, path, headers=headers)
    content = encoded(body)
    headers["Content-Type"] = content_type
    if len(content) >= GZIP_FROM:
        content = gzip.compress(content, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Request(method, path, headers=headers, content=content)


def send_file(path: str, upload: Upload, *, key: str | None = None) -> Request:
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    return Request("POST", path, headers=headers, upload=upload, repeatable=upload.file.seekable())


def encoded(body: Any) -> bytes:
    """JSON in UTF-8. A lone surrogate goes out escaped, for the server to say which field it is in."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
