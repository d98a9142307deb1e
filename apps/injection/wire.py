"""Prompts and recalls as documents of the HTTP contract."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.chats.dates import timestamp
from apps.common.scoping import Owner
from apps.injection.assembly import FilledSlot, Prompt
from apps.injection.graph import Named, graph_of
from apps.injection.models import Recall
from apps.injection.queries import named_in


def recall_documents(owner: Owner, recalls: Sequence[Recall]) -> list[dict[str, Any]]:
    """Each with the graph of what it recalled; one query for all of them."""
    named = named_in(owner, recalls)
    return [_recall_document(row, named) for row in recalls]


def _recall_document(row: Recall, named: Mapping[str, Sequence[Named]]) -> dict[str, Any]:
    return {
        "id": None if row._state.adding else str(row.pk),
        "message": str(row.message_id) if row.message_id else None,
        "index": row.message.index if row.message_id else None,
        "text": row.text,
        "edited": row.edited,
        "source": row.source,
        "memories": row.memories,
        "graph": graph_of({item["id"]: named[item["id"]] for item in row.memories if item["id"] in named}),
        "tokens": row.tokens,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def prompt_document(owner: Owner, prompt: Prompt) -> dict[str, Any]:
    return {
        "slots": [slot_document(filled) for filled in prompt.slots],
        "unified": None,
        "macros": prompt.macros,
        "recall": recall_documents(owner, [prompt.recall])[0] if prompt.recall else None,
        "messages": prompt.messages,
        "total_tokens": prompt.total_tokens,
        "turn_class": prompt.turn_class,
    }


def slot_document(filled: FilledSlot) -> dict[str, Any]:
    return {
        "name": filled.slot.name,
        "role": filled.slot.role,
        "position": filled.slot.position,
        "depth": filled.slot.depth,
        "text": filled.text,
        "tokens": filled.tokens,
        "full_tokens": filled.full_tokens,
        "trimmed": filled.trimmed,
        "budget": filled.budget,
    }
