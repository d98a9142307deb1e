"""API of memory settings and of the memory mode of a chat."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Character, Chat
from apps.chats.queries import access_chat
from apps.common.api.serializer_fields import (
    ChoiceField,
    JSONObjectField,
    StrictBooleanField,
    StrictSerializer,
    StrictUUIDField,
    read_body,
)
from apps.common.problems import FieldError, Invalid
from apps.common.settings.declarations import Schema
from apps.common.settings.openapi import changes_schema, values_schema
from apps.extraction.runs import modes
from apps.extraction.settings.schema import SETTINGS
from apps.extraction.settings.stores import MEMORY_SETTINGS, SettingsStore, integrity_of, settings_of, settings_of_owner
from apps.memories.models import ChatMemory


def described(name: str, settings: Schema) -> Callable[[type[APIView]], type[APIView]]:
    """Describe the bodies and replies of a settings view in the OpenAPI document; ``name`` is that of the replies."""
    effective = values_schema(settings, "The settings that apply.")
    own = values_schema(settings, "Those set here, without inherited ones.")
    fields = {
        "integrity": serializers.UUIDField(help_text="Names the state of `own`."),
        "effective": extend_schema_field(effective)(type("EffectiveField", (JSONObjectField,), {}))(),
        "own": extend_schema_field(own)(type("OwnField", (JSONObjectField,), {}))(),
    }
    replies = inline_serializer(name, fields)
    changes = {"application/json": changes_schema(settings)}
    return extend_schema_view(
        get=extend_schema(responses=replies), patch=extend_schema(request=changes, responses=replies)
    )


class SettingsGuardSerializer(serializers.Serializer[Any]):
    """The part of a change of settings that is no setting."""

    integrity = StrictUUIDField(default=None, allow_null=True)


class SettingsView(APIView, ABC):
    """Settings of a store; subclasses serve those of the requester, of a character or of a chat."""

    store: SettingsStore

    def get_scope(self) -> dict[str, Any]:
        """Return the character or chat as keyword arguments of ``SettingsStore.change``."""
        return {}

    @abstractmethod
    def effective(self, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
        """Return the settings that apply."""

    def _response(self, request: Request, scope: dict[str, Any]) -> Response:
        own = self.store.stored(request.user, **scope)
        return Response({"integrity": str(integrity_of(own)), "effective": self.effective(**scope), "own": own})

    def get(self, request: Request, **kwargs: UUID) -> Response:
        return self._response(request, self.get_scope())

    def patch(self, request: Request, **kwargs: UUID) -> Response:
        """Change the settings in the body; null resets one to its inherited value.

        The body may also contain the `integrity` of `own`: if `own` has changed since, the reply is a 409.
        """
        scope = self.get_scope()
        if not isinstance(request.data, dict):
            raise Invalid("Send an object of settings.", errors=[FieldError("", "It must be an object.")])
        changes = {name: value for name, value in request.data.items() if name != "integrity"}
        self.store.change(request.user, changes, **scope, **read_body(SettingsGuardSerializer, request))
        return self._response(request, scope)


class OfCharacter(SettingsView):
    """Serves the settings of the character in the path."""

    def get_scope(self) -> dict[str, Any]:
        characters = Character.objects.for_owner(self.request.user)
        return {"character": get_object_or_404(characters, pk=self.kwargs["character_id"])}


class OfChat(SettingsView):
    """Serves the settings of the chat in the path."""

    def get_scope(self) -> dict[str, Any]:
        return {"chat": access_chat(self.request.user, self.kwargs["chat_id"])}


@described("MemorySettings", SETTINGS)
class MemorySettingsView(SettingsView):
    """Memory settings of the requester; subclasses serve those of a character or a chat."""

    store = MEMORY_SETTINGS

    def effective(self, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
        return asdict(settings_of(chat) if chat else settings_of_owner(self.request.user, character))


class CharacterSettingsView(OfCharacter, MemorySettingsView):
    """Memory settings of a character."""


class ChatSettingsView(OfChat, MemorySettingsView):
    """Memory settings of a chat."""


class ModeSerializer(serializers.Serializer[Any]):
    """Memory mode of a chat."""

    mode = ChoiceField(ChatMemory.Mode.choices)
    read_only_since = serializers.UUIDField(
        source="read_only_since_id", allow_null=True, help_text="The last message that memories were extracted from."
    )
    fresh_start = serializers.UUIDField(
        source="fresh_start_id", allow_null=True, help_text="The last message before the fresh start."
    )


class ModeUpdateSerializer(StrictSerializer):
    """New memory mode of a chat."""

    mode = ChoiceField(ChatMemory.Mode.choices)
    learn = StrictBooleanField(
        default=True, help_text="When read-only mode ends: whether to extract memories from its messages too."
    )


def mode_response(memory: ChatMemory) -> Response:
    """Return a response with the memory mode of a chat."""
    return Response(ModeSerializer(memory).data)


class ModeView(APIView):
    @extend_schema(responses=ModeSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return the memory mode of a chat, and its fresh start."""
        return mode_response(ChatMemory.of_chat(access_chat(request.user, chat_id)))

    @extend_schema(request=ModeUpdateSerializer, responses=ModeSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Make a chat read-only, or end read-only mode."""
        chat = access_chat(request.user, chat_id)
        body = read_body(ModeUpdateSerializer, request)
        if body["mode"] == ChatMemory.Mode.READ_ONLY:
            memory = modes.set_read_only(request.user, chat)
        else:
            memory = modes.end_read_only(request.user, chat, learn=body["learn"])
        return mode_response(memory)


@extend_schema_view(post=extend_schema(request=None, responses=ModeSerializer))
class FreshStartView(APIView):
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Retire the memories of this chat, except long-term ones."""
        return mode_response(modes.start_fresh(request.user, access_chat(request.user, chat_id)))

    @extend_schema(responses={200: ModeSerializer})
    def delete(self, request: Request, chat_id: UUID) -> Response:
        """Restore what the fresh start retired."""
        return mode_response(modes.undo_fresh_start(request.user, access_chat(request.user, chat_id)))
