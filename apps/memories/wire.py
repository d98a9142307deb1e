"""Memories and search results as documents of the HTTP contract."""

from typing import Any
from uuid import UUID

from apps.chats.dates import timestamp
from apps.chats.serializers import message_document
from apps.memories.models import Memory
from apps.memories.search import SearchReply, SearchResult


def memory_document(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.pk),
        "chat": _id(memory.chat_id),
        "character": _id(memory.character_id),
        "tier": memory.tier,
        "kind": memory.kind,
        "text": memory.text,
        "importance": memory.importance,
        "expiration": memory.expiration,
        "confidence": memory.confidence,
        "unconfirmed": memory.unconfirmed,
        "entities": [entity.name for entity in memory.entities.all()],
        "source_messages": list(dict.fromkeys(str(source.message_id) for source in memory.sources.all())),
        "valid_from": _id(memory.valid_from_id),
        "valid_to": _id(memory.valid_to_id),
        "state": memory.state,
        "retired_reason": memory.retired_reason,
        "supersedes": [str(older.pk) for older in memory.supersedes.all()],
        "superseded_by": _id(memory.superseded_by_id),
        "source_instance": memory.source_instance,
        "participating_instances": memory.participating_instances,
        "pinned": memory.pinned,
        "hidden": memory.hidden,
        "edited_by": memory.edited_by,
        "version": memory.version,
        "embedding_model": memory.embedding_model,
        "triggers": memory.triggers,
        "witnessed_by": list(map(str, memory.witnessed_by)),
        "created_at": timestamp(memory.created_at),
        "updated_at": timestamp(memory.updated_at),
    }


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def search_document(reply: SearchReply) -> dict[str, Any]:
    return {"method": reply.method, "results": [_result_document(result) for result in reply.results]}


def _result_document(result: SearchResult) -> dict[str, Any]:
    return {
        "tier": result.tier,
        "memory": memory_document(result.memory) if result.memory else None,
        "message": _found_message(result) if result.message else None,
        "score": round(result.score, 4),
        "signals": {name: round(value, 4) for name, value in result.signals.items()},
        "matched_sentence": result.matched_sentence,
        "excerpt": result.excerpt,
    }


def _found_message(result: SearchResult) -> dict[str, Any]:
    """A message, and the chat in which it stands."""
    assert result.message is not None
    return message_document(result.message) | {"chat": str(result.message.chat_id)}
