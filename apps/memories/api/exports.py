"""Export all memories and layers of a chat as one versioned document."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from apps.chats.dates import timestamp
from apps.chats.models import Chat
from apps.memories.api.layer_serializers import (
    ArcSerializer,
    EntitySerializer,
    KnowledgeSerializer,
    PairSerializer,
    StateSerializer,
    TextVersionSerializer,
)
from apps.memories.api.serializers import ExportedMemorySerializer
from apps.memories.models import ChatMemory, Entity, Inheritance, Knowledge, Memory, VersionedText
from apps.memories.queries.arcs import arcs_in
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.relationships import relationships_in
from apps.memories.queries.scenes import finished_scenes
from apps.memories.queries.texts import versions_in

SCHEMA_VERSION = 1


class ModeSerializer(serializers.Serializer[ChatMemory]):
    mode = serializers.CharField()
    read_only_since = serializers.UUIDField(source="read_only_since_id", allow_null=True)
    fresh_start = serializers.UUIDField(source="fresh_start_id", allow_null=True)


class InheritanceSerializer(serializers.Serializer[Inheritance]):
    """The state in a branch of a memory that it inherited."""

    memory = serializers.UUIDField(source="memory_id")
    messages = serializers.ListField(source="message_ids", child=serializers.UUIDField())
    state = serializers.CharField()
    retired_reason = serializers.CharField()
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)
    valid_from = serializers.UUIDField(source="valid_from_id", allow_null=True)
    valid_to = serializers.UUIDField(source="valid_to_id", allow_null=True)


class SceneSerializer(serializers.Serializer[Any]):
    first_index = serializers.IntegerField(source="start")
    last_index = serializers.IntegerField(source="end")
    last_message = serializers.UUIDField(source="last.pk")
    name = serializers.CharField()
    recap = serializers.CharField()
    collapsed = serializers.BooleanField()
    set_by_hand = serializers.BooleanField()


def memory_export(chat: Chat, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all memories and layers of a chat, superseded, retired and expired entries included, deleted ones not.

    ``settings`` are the chat's memory settings as a document.
    """
    undeleted = Memory.objects.for_owner(chat.owner_id).undeleted().relevant_to(chat)
    memories: Any = undeleted.with_history().order_by("pk")
    inherited: Any = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat)
    knowledge = Knowledge.objects.for_owner(chat.owner_id).filter(chat=chat)
    knowledge = knowledge.select_related("subject", "target").order_by("pk")
    texts = [version for kind in VersionedText.Kind.values for version in versions_in(chat, kind)]
    ledger, relationships = ledger_in(chat), relationships_in(chat)
    # The export includes each entity that a memory or a layer names.
    entity_ids = {entity.pk for memory in memories for entity in memory.entities.all()}
    entity_ids |= {state.entity.pk for state in ledger}
    entity_ids |= {pk for row in knowledge for pk in (row.subject_id, row.target_id) if pk}
    entity_ids |= {entity.pk for pair in relationships for entity in (pair.subject, pair.target)}
    entities: QuerySet[Entity] = Entity.objects.for_owner(chat.owner_id).filter(pk__in=entity_ids).order_by("pk")
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": timestamp(timezone.now()),
        "chat": {"id": str(chat.pk), "title": chat.title, "messages": chat.message_count, "rev": chat.rev},
        "character": {"id": str(chat.character.pk), "name": chat.character.name} if chat.character else None,
        "settings": settings,
        "mode": ModeSerializer(ChatMemory.of_chat(chat)).data,
        "entities": EntitySerializer(entities, many=True).data,
        "memories": ExportedMemorySerializer(memories, many=True).data,
        "inherited": InheritanceSerializer(inherited, many=True).data,
        "scenes": SceneSerializer(finished_scenes(chat), many=True).data,
        "arcs": ArcSerializer(arcs_in(chat), many=True).data,
        "ledger": StateSerializer(ledger, many=True).data,
        "knowledge": KnowledgeSerializer(knowledge, many=True).data,
        "relationships": PairSerializer(relationships, many=True).data,
        "digests": TextVersionSerializer(texts, many=True).data,
    }
