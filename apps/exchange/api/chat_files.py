"""API of chats in files."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.uploads import check_content_length
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import ImportJob
from apps.chats.queries import access_chat
from apps.chats.serializers import ChatSerializer, OwnedCharacterField, chat_document
from apps.common.api.json_formats import CompactJSONRenderer
from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, TextField, read_body
from apps.common.problems import Invalid
from apps.exchange.chats.exports import FORMATS, export_filename
from apps.exchange.chats.imports import import_chats


class ImportSerializer(StrictSerializer):
    file = serializers.FileField(allow_empty_file=True)
    title = TextField(max_length=MAX_NAME_LENGTH, default="", help_text="Default: the name of the file.")
    character = OwnedCharacterField(default=None, help_text="Default: the character named in the file.")
    existing = ChoiceField(
        choices=[ImportJob.Existing.COPY, ImportJob.Existing.UPDATE],
        default=ImportJob.Existing.COPY,
        help_text="What becomes of a chat that is stored already, with the same character and beginning.",
    )


class SkippedLineSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    reason = serializers.CharField()


class ReportSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    messages = serializers.IntegerField()
    skipped_lines = SkippedLineSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class ImportedSerializer(serializers.Serializer[Any]):
    chats = ChatSerializer(many=True)
    report = ReportSerializer()
    updated = serializers.ListField(
        child=serializers.UUIDField(), help_text="Those of the chats that were stored already and are updated."
    )


class ChatImportView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": ImportSerializer}, responses={201: ImportedSerializer})
    def post(self, request: Request) -> Response:
        """Import the chats of a file of any supported format."""
        check_content_length(request, settings.IMPORT_MAX_BYTES)
        fields = read_body(ImportSerializer, request)
        file = fields.pop("file")
        result = import_chats(request.user, file, filename=file.name, **fields)
        document = {"chats": [chat_document(chat) for chat in result.chats], "report": result.report.as_dict()}
        document["updated"] = [str(pk) for pk in result.updated]
        return Response(document, status=status.HTTP_201_CREATED)


class JSONLinesRenderer(CompactJSONRenderer):
    """Accept requests for this media type. It renders only problems: the export itself is streamed."""

    media_type = "application/jsonl"
    format = "jsonl"


class ChatExportView(APIView):
    renderer_classes = [CompactJSONRenderer, JSONLinesRenderer]

    @extend_schema(
        parameters=[
            OpenApiParameter("format", OpenApiTypes.STR, enum=list(FORMATS), default="jsonl"),
            OpenApiParameter("hidden", OpenApiTypes.BOOL, description="Text and Markdown: include hidden messages."),
        ],
        responses={
            (200, media_type): OpenApiTypes.OBJECT if name == "json" else OpenApiTypes.BINARY
            for name, (_, media_type, _) in FORMATS.items()
        },
    )
    def get(self, request: Request, chat_id: UUID) -> StreamingHttpResponse:
        """Export the chat as a file. `jsonl` is lossless; `text` and `markdown` are for reading."""
        chat = access_chat(request.user, chat_id)
        name = request.query_params.get("format", "jsonl")
        if name not in FORMATS:
            raise Invalid.at("/format", f"The formats are {', '.join(FORMATS)}.")
        export, media_type, extension = FORMATS[name]
        hidden = _reads_hidden(request) and name in ("text", "markdown")
        chunks = export(chat, include_hidden=True) if hidden else export(chat)
        disposition = content_disposition_header(as_attachment=True, filename=export_filename(chat, extension))
        return StreamingHttpResponse(
            chunks,
            content_type=media_type,
            headers={"Content-Disposition": disposition},
        )


def _reads_hidden(request: Request) -> bool:
    """Return whether hidden messages are asked for. Raise Invalid."""
    hidden = request.query_params.get("hidden", "")
    if hidden not in ("", "true", "false"):
        raise Invalid.at("/hidden", "It must be true or false.")
    return hidden == "true"
