"""Read uploaded files, and send files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.chats.images.pictures import MAX_PICTURE_BYTES, BrokenPicture
from apps.chats.images.png import BrokenPNG
from apps.common.api.json_formats import CompactJSONRenderer
from apps.common.api.serializer_fields import StrictSerializer, read_body
from apps.common.http.request_bodies import MULTIPART_OVERHEAD_BYTES
from apps.common.problems import Invalid, TooLarge


class FileSerializer(StrictSerializer):
    file = serializers.FileField(allow_empty_file=True)


class PictureParser(BaseParser):
    """Read a body of any image type as bytes."""

    media_type = "image/*"

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        content = stream.read(MAX_PICTURE_BYTES + 1)
        if len(content) > MAX_PICTURE_BYTES:
            raise TooLarge(f"The picture is larger than {MAX_PICTURE_BYTES} bytes.")
        return content


class PictureRenderer(CompactJSONRenderer):
    """Accept requests for pictures. It renders only problems; pictures are sent unchanged."""

    media_type = "image/*"
    format = "picture"


def check_content_length(request: Request, limit: int) -> None:
    """Raise TooLarge if the declared length of the body exceeds ``limit``, before the body is read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdecimal() and int(length) > limit + MULTIPART_OVERHEAD_BYTES:
        raise TooLarge(f"The file is larger than {limit} bytes.")


def download(content: bytes, content_type: str, filename: str) -> HttpResponse:
    """Return a response that a browser saves as a file, without guessing its type."""
    return HttpResponse(
        content,
        content_type=content_type,
        headers={
            "Content-Disposition": content_disposition_header(as_attachment=True, filename=filename) or "",
            "X-Content-Type-Options": "nosniff",
        },
    )


def read_picture(request: Request, limit: int) -> bytes:
    """Return the picture in the body, which the parsers read as bytes or as the fields of a form. Raise TooLarge."""
    check_content_length(request, limit)
    data: Any = request.data
    if isinstance(data, bytes):
        return data
    file = read_body(FileSerializer, request)["file"]
    if file.size > limit:
        raise TooLarge(f"The picture is larger than {limit} bytes.")
    return bytes(file.read())


@contextmanager
def refuse_broken_pictures() -> Iterator[None]:
    """Raise Invalid where a picture in the body is broken."""
    try:
        yield
    except (BrokenPicture, BrokenPNG) as error:
        raise Invalid.at("/file", str(error)) from None


def picture_response(
    request: Request, content: bytes, media_type: str, version: UUID, *, is_immutable: bool = False
) -> HttpResponse:
    """Return a picture that the browser may keep, or 304 if it has this version.

    It keeps an immutable one for a year, and asks again for any other. Opened as a page, the picture may load nothing.
    """
    headers = {
        "ETag": f'"{version}"',
        "Cache-Control": f"private, {'max-age=31536000, immutable' if is_immutable else 'no-cache'}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    response = HttpResponse(content, content_type=media_type, headers=headers)
    found = get_conditional_response(request._request, etag=headers["ETag"], response=response)
    return found or response
