"""API of the note that repairs a contradiction in the last reply."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.prompts.repair_notes import cancel_note
from apps.prompts.retrieval.texts import pending_note


class RepairSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    message = serializers.UUIDField(source="source_id", help_text="The reply that contradicts what is known.")
    created_at = serializers.DateTimeField()


class PendingRepairSerializer(serializers.Serializer[Any]):
    note = RepairSerializer(allow_null=True, help_text="The note for the next prompt; null if there is none.")


class RepairView(APIView):
    @extend_schema(responses=PendingRepairSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return the note that corrects contradictions in the next prompt, or null."""
        return Response(PendingRepairSerializer({"note": pending_note(access_chat(request.user, chat_id))}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID) -> Response:
        """Keep the note out of the next prompt."""
        cancel_note(access_chat(request.user, chat_id), editor=str(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)
