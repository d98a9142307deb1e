"""API of character cards and lorebooks in files."""

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

from apps.chats.api.characters import CharacterSerializer
from apps.chats.api.lorebooks import LorebookSerializer
from apps.chats.api.uploads import FileSerializer, PictureRenderer, check_content_length, download
from apps.chats.message_data.layout import dump
from apps.chats.queries import access_character, access_lorebook
from apps.common.api.json_formats import CompactJSONRenderer
from apps.common.api.serializer_fields import read_body
from apps.common.problems import Invalid
from apps.exchange import cards
from apps.exchange.formats import lorebooks


class FileReportSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())


class ImportedCardsSerializer(serializers.Serializer[Any]):
    characters = CharacterSerializer(many=True)
    lorebooks = LorebookSerializer(many=True)
    report = FileReportSerializer()
    existed = serializers.BooleanField(help_text="The character was imported from the same card before.")


class ImportedLorebooksSerializer(serializers.Serializer[Any]):
    lorebooks = LorebookSerializer(many=True)
    report = FileReportSerializer()


def _uploaded_file(request: Request) -> Any:
    check_content_length(request, cards.MAX_FILE_BYTES)
    return read_body(FileSerializer, request)["file"]


class CharacterImportView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": FileSerializer}, responses={201: ImportedCardsSerializer})
    def post(self, request: Request) -> Response:
        """Import a character card of any version (PNG, JSON, CHARX or YAML) or a lorebook."""
        file = _uploaded_file(request)
        imported = cards.import_card(request.user, file, filename=file.name)
        return Response(ImportedCardsSerializer(imported).data, status=status.HTTP_201_CREATED)


class CharacterExportView(APIView):
    renderer_classes = [CompactJSONRenderer, PictureRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("format", OpenApiTypes.STR, enum=["json", "png"], default="json")],
        responses={(200, "application/json"): OpenApiTypes.OBJECT, (200, "image/png"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: UUID) -> HttpResponse:
        """Export the card as imported, with later changes. A PNG contains the card in versions 2 and 3."""
        character = access_character(request.user, pk)
        format_name = request.query_params.get("format", "json")
        if format_name == "json":
            filename = cards.card_filename(character.name, "json")
            return download(cards.export_json(character), "application/json", filename)
        if format_name == "png":
            return download(cards.export_png(character), "image/png", cards.card_filename(character.name, "png"))
        raise Invalid.at("/format", "The formats are json and png.")


class LorebookImportView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": FileSerializer}, responses={201: ImportedLorebooksSerializer})
    def post(self, request: Request) -> Response:
        """Import a lorebook of SillyTavern, NovelAI, Agnai or Risu, or that of a card."""
        file = _uploaded_file(request)
        imported = cards.import_lorebook(request.user, file, filename=file.name)
        return Response(ImportedLorebooksSerializer(imported).data, status=status.HTTP_201_CREATED)


class LorebookExportView(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("format", OpenApiTypes.STR, enum=list(lorebooks.FORMATS), default="sillytavern")],
        responses={(200, "application/json"): OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, lorebook_id: UUID) -> HttpResponse:
        """Export the lorebook. Unchanged, and in its original format, it is equal to the imported file."""
        book = access_lorebook(request.user, lorebook_id)
        format_name = request.query_params.get("format", "sillytavern")
        if format_name not in lorebooks.FORMATS:
            raise Invalid.at("/format", f"The formats are {', '.join(lorebooks.FORMATS)}.")
        content = dump(lorebooks.write(book.document, format_name, book.original)).encode()
        return download(content, "application/json", cards.card_filename(book.name, "json"))
