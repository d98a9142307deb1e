"""API of imports and exports of memories."""

from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.uploads import check_content_length, download
from apps.chats.models import Lorebook
from apps.chats.queries import access_character, access_chat
from apps.common.api.serializer_fields import StrictSerializer, read_body
from apps.common.database.replica import from_replica
from apps.common.problems import Invalid
from apps.common.scoping import owner_id_of
from apps.exchange.filenames import safe_filename
from apps.exchange.memories.exporting import lorebook_of, markdown_of
from apps.exchange.memories.importing import MAX_FILE_BYTES, import_into
from apps.memories.api.fields import OwnedRelatedField
from apps.memories.queries.memory_book import MemoryBook

# What a format is made by, its media type and the ending of its files.
FORMATS = {
    "lorebook": (lorebook_of, "application/json", "json"),
    "markdown": (markdown_of, "text/markdown; charset=utf-8", "md"),
}


class MemorySourceSerializer(StrictSerializer):
    """A file, or one of the user's lorebooks."""

    file = serializers.FileField(required=False, allow_empty_file=True)
    lorebook = OwnedRelatedField(lambda owner: Lorebook.objects.for_owner(owner), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError({"file": "Send either a file or the id of a lorebook."})
        return attrs


class MemoryImportReportSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    written = serializers.DictField(child=serializers.IntegerField(), help_text="Numbers by what was written.")
    warnings = serializers.ListField(child=serializers.CharField())


class ImportedMemoriesSerializer(serializers.Serializer[Any]):
    report = MemoryImportReportSerializer(source="*")


def target_of(request: Request, chat_id: UUID | None, character_id: UUID | None) -> dict[str, Any]:
    """Return the chat or the character as keyword arguments. Raise Missing."""
    if chat_id is not None:
        return {"chat": access_chat(request.user, chat_id)}
    assert character_id is not None
    return {"character": access_character(request.user, character_id)}


class MemoryImportView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": MemorySourceSerializer}, responses={201: ImportedMemoriesSerializer})
    def post(self, request: Request, chat_id: UUID | None = None, character_id: UUID | None = None) -> Response:
        """Import a lorebook, or memories of Smart Memory or ST-BME. What is remembered already is left out."""
        check_content_length(request, MAX_FILE_BYTES)
        target = target_of(request, chat_id, character_id)
        (source,) = read_body(MemorySourceSerializer, request).values()
        imported = import_into(request.user, source, **target)
        return Response(ImportedMemoriesSerializer(imported).data, status=status.HTTP_201_CREATED)


class MemoryFileView(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("format", OpenApiTypes.STR, enum=list(FORMATS), default="lorebook")],
        responses={(200, "application/json"): OpenApiTypes.OBJECT, (200, "text/markdown"): OpenApiTypes.STR},
    )
    def get(self, request: Request, chat_id: UUID | None = None, character_id: UUID | None = None) -> HttpResponse:
        """Export the active memories as a lorebook of SillyTavern, or all of the memory book as Markdown."""
        target = target_of(request, chat_id, character_id)
        book = MemoryBook(owner_id_of(request.user), target.get("chat"), target.get("character"))
        name = request.query_params.get("format", "lorebook")
        if name not in FORMATS:
            raise Invalid.at("/format", f"The formats are {', '.join(FORMATS)}.")
        make, media_type, ending = FORMATS[name]
        filename = f"{safe_filename(f'Memories of {book.title}')}.{ending}"
        return download(from_replica(partial(make, book)), media_type, filename)
