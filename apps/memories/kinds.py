"""The kinds of what is remembered. A new layer is added here; how it differs from the others, its ``life`` says.

Memories are handled apart where they differ in nature: a memory has several sources and is replaced by another memory,
a branch inherits it by reference, and it has its own place in the bin.
"""

from typing import Any

from django.db.models import QuerySet

from apps.chats.models import Chat
from apps.memories.models import (
    Arc,
    Knowledge,
    LayerEntry,
    LedgerEntry,
    Memory,
    Relationship,
    Remembered,
    Scene,
    VersionedText,
)

LAYERS: tuple[type[LayerEntry], ...] = (Scene, Knowledge, LedgerEntry, Arc, Relationship, VersionedText)
KINDS: tuple[type[Remembered], ...] = (Memory, *LAYERS)
# What may belong to a character, and stay with it without a chat.
OF_CHARACTER: tuple[type[Any], ...] = tuple(model for model in KINDS if hasattr(model, "character"))
# What names an entity, and the column that does.
NAMING: tuple[tuple[type[Any], str], ...] = tuple((model, name) for model in KINDS for name in model.life.names)


def entries_of(model: type[LayerEntry], chat: Chat) -> QuerySet[Any]:
    """Return all entries of a layer that a chat has, retired ones included."""
    layer: Any = model  # the base has neither chat nor state
    rows: QuerySet[Any] = layer.objects.for_owner(chat.owner_id).filter(chat=chat)
    return rows
