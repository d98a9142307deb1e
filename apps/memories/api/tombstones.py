"""API of deleted memories."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common.api.serializer_fields import StrictSerializer, read_query
from apps.memories.queries.tombstones import tombstones_since


class MemoryTombstoneSerializer(serializers.Serializer[Any]):
    """A deleted memory."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField(source="chat_id", allow_null=True)
    at = serializers.DateTimeField(source="deleted_at")


class TombstonesQuerySerializer(StrictSerializer):
    since = serializers.DateTimeField(required=False, default=None, help_text="`until` of the last reply.")
    chat = serializers.UUIDField(required=False, default=None, help_text="Only what this chat may have known.")


class TombstonesSerializer(serializers.Serializer[Any]):
    tombstones = MemoryTombstoneSerializer(many=True)
    until = serializers.DateTimeField(help_text="From which to ask next.")
    complete = serializers.BooleanField(source="is_complete", help_text="False: ask again at once.")


class TombstonesView(APIView):
    @extend_schema(parameters=[TombstonesQuerySerializer], responses=TombstonesSerializer)
    def get(self, request: Request) -> Response:
        """Return the memories deleted since a moment, or all of them. One may come more than once."""
        query = read_query(TombstonesQuerySerializer, request)
        chat = access_chat(request.user, query["chat"]) if query["chat"] else None
        found = tombstones_since(request.user, query["since"], chat=chat)
        rows = MemoryTombstoneSerializer(found.memories, many=True).data
        return Response({"tombstones": rows, "until": found.until, "complete": found.is_complete})
