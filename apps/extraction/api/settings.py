"""Memory settings and the mode of a chat over HTTP."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Character, Chat
from apps.chats.queries import access_chat
from apps.common.problems import FieldError, Invalid
from apps.common.serializer_fields import Flag, JSONObject, StrictSerializer
from apps.extraction import modes
from apps.extraction.settings.operations import change_settings
from apps.extraction.settings.queries import settings_of, settings_of_owner, stored_settings
from apps.memories.api.base import get_or_missing
from apps.memories.models import ChatMemory

ANY_OBJECT = {"type": "object", "additionalProperties": True}


class MemorySettingsSerializer(serializers.Serializer[Any]):
    """``effective`` is what holds; ``own`` is what was set here, and not only what a more general place says."""

    effective = JSONObject()
    own = JSONObject()


class MemorySettingsView(APIView):
    """The settings of a user, of one of their characters, or of one of their chats."""

    def _of(self, request: Request, **named: UUID) -> dict[str, Any]:
        """Whose settings they are, as arguments of ``change_settings``."""
        return {}

    def _reply(self, request: Request, scope: dict[str, Any]) -> Response:
        chat: Chat | None = scope.get("chat")
        effective = settings_of(chat) if chat else settings_of_owner(request.user, scope.get("character"))
        return Response({"effective": asdict(effective), "own": stored_settings(request.user, **scope)})

    @extend_schema(responses=MemorySettingsSerializer)
    def get(self, request: Request, **named: UUID) -> Response:
        return self._reply(request, self._of(request, **named))

    @extend_schema(request={"application/json": ANY_OBJECT}, responses=MemorySettingsSerializer)
    def patch(self, request: Request, **named: UUID) -> Response:
        """Set what the body names; null takes a setting back."""
        scope = self._of(request, **named)
        if not isinstance(request.data, dict):
            raise Invalid("Send an object of settings.", errors=[FieldError("", "It must be an object.")])
        change_settings(request.user, request.data, **scope)
        return self._reply(request, scope)


class CharacterSettingsView(MemorySettingsView):
    def _of(self, request: Request, **named: UUID) -> dict[str, Any]:
        return {"character": get_or_missing(Character.objects.for_owner(request.user), pk=named["character_id"])}


class ChatSettingsView(MemorySettingsView):
    def _of(self, request: Request, **named: UUID) -> dict[str, Any]:
        return {"chat": access_chat(request.user, named["chat_id"])}


class ModeSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(ChatMemory.Mode.choices)
    read_only_since = serializers.UUIDField(allow_null=True, help_text="The last message that was learnt from.")
    fresh_start = serializers.UUIDField(allow_null=True, help_text="The last message before the fresh start.")


class ModeUpdateSerializer(StrictSerializer):
    mode = serializers.ChoiceField(ChatMemory.Mode.choices)
    learn = Flag(default=True, help_text="Back from read-only: whether to learn from what was said meanwhile.")


def mode_document(memory: ChatMemory) -> dict[str, Any]:
    return {
        "mode": memory.mode,
        "read_only_since": memory.read_only_since_id,
        "fresh_start": memory.fresh_start_id,
    }


class ModeView(APIView):
    @extend_schema(responses=ModeSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Whether the chat learns, or only recalls."""
        return Response(mode_document(ChatMemory.of_chat(access_chat(request.user, chat_id))))

    @extend_schema(request=ModeUpdateSerializer, responses=ModeSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = ModeUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        if body.validated_data["mode"] == ChatMemory.Mode.READ_ONLY:
            memory = modes.set_read_only(request.user, chat)
        else:
            memory = modes.end_read_only(request.user, chat, learn=body.validated_data["learn"])
        return Response(mode_document(memory))


@extend_schema_view(post=extend_schema(request=None, responses=ModeSerializer))
class FreshStartView(APIView):
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Set aside what is remembered of this chat alone; long-term memories stay."""
        return Response(mode_document(modes.start_fresh(request.user, access_chat(request.user, chat_id))))

    @extend_schema(responses=ModeSerializer)
    def delete(self, request: Request, chat_id: UUID) -> Response:
        """Bring back what the fresh start set aside."""
        return Response(mode_document(modes.undo_fresh_start(request.user, access_chat(request.user, chat_id))))
