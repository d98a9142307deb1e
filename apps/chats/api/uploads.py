"""Read uploaded files, and send files."""

from typing import IO, Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.chats.formats.cards.pictures import MAX_PICTURE_BYTES
from apps.common.problems import TooLarge
from apps.common.request_bodies import MULTIPART_OVERHEAD_BYTES
from apps.common.serializer_fields import StrictSerializer
from apps.common.strict_json import CompactJSONRenderer


class FileSerializer(StrictSerializer):
    file = serializers.FileField(allow_empty_file=True)


class FileReportSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())


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
