"""All that is remembered of a chat as one document, which says by its ``schema_version`` how it is to be read."""

from collections.abc import Mapping
from typing import Any

from apps.chats.dates import timestamp
from apps.chats.models import Chat
from apps.common import clock
from apps.memories import queries
from apps.memories.layer_wire import (
    arc_document,
    digest_document,
    entity_document,
    identifier,
    knowledge_document,
    pair_document,
    state_document,
)
from apps.memories.models import Entity, Inheritance, Knowledge, Memory, VersionedText
from apps.memories.queries import SceneView
from apps.memories.wire import memory_document

SCHEMA_VERSION = 1


def memory_export(chat: Chat, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that is known in a chat, replaced and retired entries included, deleted ones not.

    ``settings`` are the chat's memory settings as the document shows them.
    """
    memories = list(Memory.objects.for_owner(chat.owner_id).present().known_in(chat).with_history().order_by("pk"))
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": timestamp(clock.now()),
        "chat": {"id": str(chat.pk), "title": chat.title, "messages": chat.message_count, "rev": chat.rev},
        "character": {"id": str(chat.character.pk), "name": chat.character.name} if chat.character else None,
        "settings": settings,
        "mode": _mode(chat),
        "entities": [entity_document(entity) for entity in _entities(chat, memories)],
        "memories": [memory_document(memory) | {"sources": _sources(memory)} for memory in memories],
        "inherited": [_inheritance(row) for row in Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat)],
        "scenes": [_scene(scene) for scene in queries.scenes_in(chat)],
        "arcs": [arc_document(arc) for arc in queries.arcs_in(chat)],
        "ledger": [state_document(state) for state in queries.ledger_in(chat)],
        "knowledge": [knowledge_document(row) for row in _knowledge(chat)],
        "relationships": [pair_document(pair) for pair in queries.relationships_in(chat)],
        "digests": [
            digest_document(row) for kind in VersionedText.Kind.values for row in queries.digests_of(chat, kind)
        ],
    }


def _mode(chat: Chat) -> dict[str, Any]:
    memory = queries.chat_memory_of(chat)
    return {
        "mode": memory.mode,
        "read_only_since": identifier(memory.read_only_since_id),
        "fresh_start": identifier(memory.fresh_start_id),
    }


def _entities(chat: Chat, memories: list[Memory]) -> list[Entity]:
    """Whom and what the memories and the layers of the chat speak of."""
    named = {entity.pk for memory in memories for entity in memory.entities.all()}
    named |= {state.entity.pk for state in queries.ledger_in(chat)}
    named |= {pk for row in _knowledge(chat) for pk in (row.subject_id, row.target_id) if pk}
    named |= {one.pk for pair in queries.relationships_in(chat) for one in (pair.subject, pair.target)}
    return list(Entity.objects.for_owner(chat.owner_id).filter(pk__in=named).order_by("pk"))


def _knowledge(chat: Chat) -> Any:
    """With what no longer holds."""
    rows = Knowledge.objects.for_owner(chat.owner_id).filter(chat=chat)
    return rows.select_related("subject", "target").order_by("pk")


def _sources(memory: Memory) -> list[dict[str, Any]]:
    """Where it was said: the message, which of its swipes, and whether that text stands there still."""
    return [
        {
            "message": str(source.message_id),
            "index": source.message.index,
            "chat": str(source.message.chat_id),
            "swipe": str(source.swipe_id),
            "lost": source.lost,
        }
        for source in memory.sources.all()
    ]


def _inheritance(row: Inheritance) -> dict[str, Any]:
    """What became, in this branch, of a memory that it took over."""
    return {
        "memory": str(row.memory_id),
        "messages": list(map(str, row.message_ids)),
        "state": row.state,
        "retired_reason": row.retired_reason,
        "superseded_by": identifier(row.superseded_by_id),
        "valid_from": identifier(row.valid_from_id),
        "valid_to": identifier(row.valid_to_id),
    }


def _scene(scene: SceneView) -> dict[str, Any]:
    return {
        "first_index": scene.start,
        "last_index": scene.end,
        "last_message": str(scene.last.pk),
        "name": scene.name,
        "recap": scene.recap,
        "collapsed": scene.collapsed,
        "set_by_hand": scene.found is None,
    }
