"""Serializers of memories: responses and request bodies."""

from typing import Any

from rest_framework import serializers

from apps.chats.models import Character, Chat, Message
from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
)
from apps.memories.api.fields import MetadataField, NamespaceField, NonBlankTextField, OwnedRelatedField, TagListField
from apps.memories.models import Inheritance, Memory, MemorySource
from apps.memories.operations.memories import MAX_TEXT_LENGTH
from apps.memories.queries.history import HistoryEvent

MAX_BATCH = 1000  # memories


class MemorySerializer(serializers.Serializer[Memory]):
    """Representation of a memory, which must be loaded ``with_history()``."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField(source="chat_id", allow_null=True)
    character = serializers.UUIDField(source="character_id", allow_null=True)
    tier = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()
    quoted_from = serializers.CharField(
        help_text="Who said all of the text: it is told to models as their words. Empty: it is no quotation."
    )
    masked = serializers.BooleanField(
        source="is_masked", help_text="Whether a key, a password or a card number is left out of the text."
    )
    importance = serializers.IntegerField()
    expiration = serializers.CharField()
    confidence = serializers.FloatField()
    unconfirmed = serializers.IntegerField()
    entities = serializers.ListField(source="entity_names", child=serializers.CharField())
    source_messages = serializers.ListField(source="source_message_ids", child=serializers.UUIDField())
    valid_from = serializers.UUIDField(source="valid_from_id", allow_null=True)
    valid_to = serializers.UUIDField(source="valid_to_id", allow_null=True)
    state = serializers.CharField()
    retired_reason = serializers.CharField()
    supersedes = serializers.ListField(source="superseded_ids", child=serializers.UUIDField())
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)
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
    namespace = serializers.CharField(help_text="The end user of your application whose it is; empty: your own.")
    metadata = serializers.JSONField()
    tags = serializers.ListField(child=serializers.CharField())
    expires_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Memory) -> dict[str, Any]:
        """Return the document; after ``with_inheritance()`` as the branch has the memory."""
        document: dict[str, Any] = super().to_representation(instance)
        for inheritance in getattr(instance, "inheritances_here", ()):
            document |= InheritedStateSerializer(inheritance).data
        successor_id = getattr(instance, "successor_here", None)
        if successor_id is not None and document["state"] == Memory.State.ACTIVE:
            document |= {"state": Memory.State.SUPERSEDED.value, "superseded_by": str(successor_id)}
        return document


class InheritedStateSerializer(serializers.Serializer[Inheritance]):
    """The fields of a memory that a branch which inherited it has of its own."""

    confidence = serializers.FloatField()
    source_messages = serializers.ListField(source="message_ids", child=serializers.UUIDField())
    valid_from = serializers.UUIDField(source="valid_from_id", allow_null=True)
    valid_to = serializers.UUIDField(source="valid_to_id", allow_null=True)
    state = serializers.CharField()
    retired_reason = serializers.CharField()
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)


class MemoriesSerializer(serializers.Serializer[Any]):
    results = MemorySerializer(many=True)


class SourceSerializer(serializers.Serializer[MemorySource]):
    """A source of a memory in an export: message, swipe, and whether that text was lost."""

    message = serializers.UUIDField(source="message_id")
    index = serializers.IntegerField(source="message.index")
    chat = serializers.UUIDField(source="message.chat_id")
    swipe = serializers.UUIDField(source="swipe_id")
    lost = serializers.BooleanField()


class ExportedMemorySerializer(MemorySerializer):
    """A memory in an export, with its sources."""

    sources = SourceSerializer(many=True)


class MemoryUpdateSerializer(StrictSerializer):
    """A person's correction of a memory."""

    text = NonBlankTextField(max_length=MAX_TEXT_LENGTH, required=False)
    kind = ChoiceField(Memory.Kind.choices, required=False)
    importance = StrictIntegerField(min_value=1, max_value=3, required=False)
    pinned = StrictBooleanField(required=False)
    hidden = StrictBooleanField(required=False)
    metadata = MetadataField(required=False, help_text="Replaces what there was.")
    tags = TagListField(required=False)
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Name at least one field to change.")
        return attrs


class MemoryCreateSerializer(StrictSerializer):
    """A memory that a person writes."""

    text = NonBlankTextField(max_length=MAX_TEXT_LENGTH)
    tier = ChoiceField(Memory.Tier.choices, default=Memory.Tier.LONG_TERM)
    kind = ChoiceField(Memory.Kind.choices, default=Memory.Kind.FACT)
    importance = StrictIntegerField(min_value=1, max_value=3, default=2)
    chat = OwnedRelatedField(
        lambda owner: Chat.objects.for_owner(owner).select_related("character"), allow_null=True, default=None
    )
    character = OwnedRelatedField(lambda owner: Character.objects.for_owner(owner), allow_null=True, default=None)
    source_messages = BoundedListField(
        source="sources",
        child=OwnedRelatedField(
            lambda owner: Message.objects.for_owner(owner).filter(chat__deleted_at=None).with_swipes(),
            namespace="chat__namespace",
        ),
        default=list,
        max_length=100,
    )
    namespace = NamespaceField(required=False, help_text="Default: that of the chat or the character.")
    metadata = MetadataField(default=dict)
    tags = TagListField(default=list)
    expires_at = serializers.DateTimeField(allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["tier"] == Memory.Tier.SESSION and attrs["chat"] is None:
            raise serializers.ValidationError({"chat": ["A session memory belongs to a chat."]})
        return attrs


class BatchUpdateSerializer(MemoryUpdateSerializer):
    """A change of one of several memories."""

    id = StrictUUIDField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) == 1:
            raise serializers.ValidationError("Name at least one field to change.")
        return attrs


class BatchSerializer(StrictSerializer):
    """Changes of several memories: all of them, or none."""

    update = BoundedListField(child=BatchUpdateSerializer(), default=list, max_length=MAX_BATCH)  # type: ignore[assignment]
    delete = BoundedListField(child=StrictUUIDField(), default=list, max_length=MAX_BATCH)


class BatchResultSerializer(serializers.Serializer[Any]):
    updated = MemorySerializer(many=True)
    deleted = serializers.ListField(child=serializers.UUIDField())


class HistoryEventSerializer(serializers.Serializer[HistoryEvent]):
    """What happened to a memory, or to one that it replaced or that replaced it."""

    event = ChoiceField(HistoryEvent.KINDS)
    memory = serializers.UUIDField()
    text = serializers.CharField(help_text="As it was after that.")
    former_text = serializers.CharField(allow_null=True, help_text="As it was before a correction.")
    by = serializers.CharField(help_text="Who wrote or corrected it; empty: a run.")
    successor = serializers.UUIDField(allow_null=True, help_text="The memory that superseded it.")
    reason = serializers.CharField(help_text="Why it was superseded or retired, where that is known.")
    at = serializers.DateTimeField(allow_null=True, help_text="Null for an earlier correction, whose time is not kept.")


class HistorySerializer(serializers.Serializer[Any]):
    results = HistoryEventSerializer(many=True)


class MergeSerializer(StrictSerializer):
    """Memories of one tier and character, and the text that they are merged into."""

    memories = BoundedListField(
        child=OwnedRelatedField(lambda owner: Memory.objects.for_owner(owner).active()), min_length=2, max_length=50
    )
    text = NonBlankTextField(max_length=MAX_TEXT_LENGTH)

    def validate_memories(self, memories: list[Memory]) -> list[Memory]:
        if len({memory.pk for memory in memories}) < len(memories):
            raise serializers.ValidationError("It names a memory twice.")
        return memories


class SplitSerializer(StrictSerializer):
    """The texts that a memory is split into."""

    texts = BoundedListField(child=NonBlankTextField(max_length=MAX_TEXT_LENGTH), min_length=2, max_length=20)
