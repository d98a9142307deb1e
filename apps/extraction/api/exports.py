"""API of the memory export of a chat."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common.api.serializer_fields import JSONObjectField
from apps.common.database.replica import from_replica
from apps.extraction.settings.queries import settings_document
from apps.memories.api.exports import memory_export


def _object_list() -> serializers.ListField:
    return serializers.ListField(child=JSONObjectField())


class MemoryExportSerializer(serializers.Serializer[Any]):
    """Memory export. Each list holds objects in the shape of the API of their layer."""

    schema_version = serializers.IntegerField()
    exported_at = serializers.DateTimeField()
    chat = JSONObjectField()
    character = JSONObjectField(allow_null=True)
    settings = JSONObjectField(help_text="Effective settings, and those of the user, the character and the chat.")
    mode = JSONObjectField()
    entities = _object_list()
    memories = _object_list()
    inherited = _object_list()
    scenes = _object_list()
    arcs = _object_list()
    ledger = _object_list()
    knowledge = _object_list()
    relationships = _object_list()
    digests = _object_list()


class MemoryExportView(APIView):
    @extend_schema(responses=MemoryExportSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return all memories of a chat as a file, including superseded and retired ones."""
        chat = access_chat(request.user, chat_id)
        name = f"memories-{chat.pk}.json"
        return Response(
            from_replica(partial(memory_export, chat, settings_document(chat))),
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
