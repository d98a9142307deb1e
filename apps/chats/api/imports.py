"""API of chat imports."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.uploads import check_content_length
from apps.chats.models import ImportJob
from apps.chats.serializers import ChatSerializer, OwnedCharacterField, chat_document
from apps.chats.transfer.imports import import_chats
from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, TextField, read_body


class ImportSerializer(StrictSerializer):
    file = serializers.FileField(allow_empty_file=True)
    title = TextField(max_length=200, default="", help_text="Default: the name of the file.")
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
