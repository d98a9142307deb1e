"""What the API takes and gives of memories."""

from typing import Any

from rest_framework import serializers

from apps.chats.models import Chat, Message
from apps.chats.serializers import OwnCharacter
from apps.common.serializer_fields import Flag, Integer, StrictSerializer, Text
from apps.memories.models import Memory

MAX_TEXT = 4000


class OwnChat(serializers.PrimaryKeyRelatedField[Chat]):
    """The id of one of the requester's chats, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def get_queryset(self) -> Any:
        return Chat.objects.for_owner(self.context["request"].user).select_related("character")


class OwnMessage(serializers.PrimaryKeyRelatedField[Message]):
    """The id of one of the requester's messages."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> Any:
        return Message.objects.for_owner(self.context["request"].user).with_swipes()


class OwnMemory(serializers.PrimaryKeyRelatedField[Memory]):
    """The id of one of the requester's memories that stands."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> Any:
        return Memory.objects.for_owner(self.context["request"].user).active()


class MemorySerializer(serializers.Serializer[Memory]):
    """A memory as it is replied; made by ``wire.memory_document``."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField(allow_null=True)
    character = serializers.UUIDField(allow_null=True)
    tier = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()
    importance = serializers.IntegerField()
    expiration = serializers.CharField()
    confidence = serializers.FloatField()
    unconfirmed = serializers.IntegerField()
    entities = serializers.ListField(child=serializers.CharField())
    source_messages = serializers.ListField(child=serializers.UUIDField())
    valid_from = serializers.UUIDField(allow_null=True)
    valid_to = serializers.UUIDField(allow_null=True)
    state = serializers.CharField()
    retired_reason = serializers.CharField()
    supersedes = serializers.ListField(child=serializers.UUIDField())
    superseded_by = serializers.UUIDField(allow_null=True)
    source_instance = serializers.CharField()
    participating_instances = serializers.ListField(child=serializers.CharField())
    pinned = serializers.BooleanField()
    hidden = serializers.BooleanField()
    edited_by = serializers.CharField()
    version = serializers.IntegerField()
    embedding_model = serializers.CharField()
    triggers = serializers.ListField(child=serializers.CharField())
    witnessed_by = serializers.ListField(
        child=serializers.UUIDField(), help_text="Participants of a group who were there; empty: everybody."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


def not_blank(text: str) -> None:
    if not text.strip():
        raise serializers.ValidationError("It must hold words.")


class MemoryUpdateSerializer(StrictSerializer):
    """A person's correction."""

    text = Text(max_length=MAX_TEXT, allow_blank=False, validators=[not_blank], required=False)
    kind = serializers.ChoiceField(Memory.Kind.choices, required=False)
    importance = Integer(min_value=1, max_value=3, required=False)
    pinned = Flag(required=False)
    hidden = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Name at least one field to change.")
        return attrs


class MemoryCreateSerializer(StrictSerializer):
    text = Text(max_length=MAX_TEXT, allow_blank=False, validators=[not_blank])
    tier = serializers.ChoiceField(Memory.Tier.choices, default=Memory.Tier.LONG_TERM)
    kind = serializers.ChoiceField(Memory.Kind.choices, default=Memory.Kind.FACT)
    importance = Integer(min_value=1, max_value=3, default=2)
    chat = OwnChat(default=None)
    character = OwnCharacter(default=None)
    source_messages = serializers.ListField(child=OwnMessage(), default=list, max_length=100)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["tier"] == Memory.Tier.SESSION and attrs["chat"] is None:
            raise serializers.ValidationError({"chat": ["A session memory belongs to a chat."]})
        return attrs

    def fields_of_memory(self) -> dict[str, Any]:
        """What ``operations.create_memory`` takes."""
        data = dict(self.validated_data)
        return data | {"sources": data.pop("source_messages")}


class MemoryQuery(serializers.Serializer[Any]):
    """The filters of the list; ``at`` asks for the state at a message, and needs a chat."""

    chat = serializers.UUIDField(required=False)
    character = serializers.UUIDField(required=False)
    tier = serializers.ChoiceField([*Memory.Tier.values, "journal"], required=False)
    kind = serializers.ChoiceField(Memory.Kind.choices, required=False)
    entity = serializers.CharField(required=False, max_length=200)
    state = serializers.ChoiceField(Memory.State.choices, required=False)
    at = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "at" in attrs and "chat" not in attrs:
            raise serializers.ValidationError({"at": ["It needs a chat."]})
        return attrs

    def apply(self, memories: Any) -> Any:
        """Narrow a queryset of one owner's memories."""
        chosen = dict(self.validated_data)
        at, entity = chosen.pop("at", None), chosen.pop("entity", None)
        if at is not None:
            memories = memories.as_of(at)
        if entity:
            memories = memories.filter(entities__name__iexact=entity).distinct()
        return memories.filter(**chosen)


class MergeSerializer(StrictSerializer):
    """Memories of one tier and character that become one."""

    memories = serializers.ListField(child=OwnMemory(), min_length=2, max_length=50)
    text = Text(max_length=MAX_TEXT, allow_blank=False, validators=[not_blank])

    def validate_memories(self, memories: list[Memory]) -> list[Memory]:
        if len({memory.pk for memory in memories}) < len(memories):
            raise serializers.ValidationError("It names a memory twice.")
        if len({(memory.tier, memory.character_id) for memory in memories}) > 1:
            raise serializers.ValidationError("They must be of one tier and of one character.")
        return memories


class SplitSerializer(StrictSerializer):
    texts = serializers.ListField(
        child=Text(max_length=MAX_TEXT, allow_blank=False, validators=[not_blank]), min_length=2, max_length=20
    )


class MemoriesSerializer(serializers.Serializer[Any]):
    results = MemorySerializer(many=True)
