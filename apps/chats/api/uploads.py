"""Files that come to the API, and files that it sends."""

from typing import IO, Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.chats.formats.cards.pictures import MAX_PICTURE_BYTES
from apps.common.problems import TooLarge
from apps.common.serializer_fields import StrictSerializer
from apps.common.strict_json import CompactJSONRenderer

# What the other fields and the boundaries of a multipart body may take.
ENVELOPE_BYTES = 64 * 1024


class FileSerializer(StrictSerializer):
    file = serializers.FileField(allow_empty_file=True)


class FileReportSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())


class PictureParser(BaseParser):
    """A picture as the whole body, whatever it says that it is."""

    media_type = "image/*"

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        content = stream.read(MAX_PICTURE_BYTES + 1)
        if len(content) > MAX_PICTURE_BYTES:
            raise TooLarge(f"The picture is larger than {MAX_PICTURE_BYTES} bytes.")
        return content


class PictureRenderer(CompactJSONRenderer):
    """Lets a client accept pictures alone. The picture passes it by; it writes the problems."""

    media_type = "image/*"
    format = "picture"


def refuse_larger(request: Request, limit: int) -> None:
    """Before the body is read, by the length that it declares. Raises TooLarge."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdecimal() and int(length) > limit + ENVELOPE_BYTES:
        raise TooLarge(f"The file is larger than {limit} bytes.")


def download(content: bytes, content_type: str, filename: str) -> HttpResponse:
    """A file that a browser saves, and never takes for something else."""
    return HttpResponse(
        content,
        content_type=content_type,
        headers={
            "Content-Disposition": content_disposition_header(as_attachment=True, filename=filename) or "",
            "X-Content-Type-Options": "nosniff",
        },
    )
