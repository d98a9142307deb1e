"""All that is remembered of a chat, in a form that can be compared: across runs, across chats, before and after."""

import hashlib
from typing import Any

from apps.chats.models import Chat
from apps.memories.models import (
    Arc,
    Entity,
    Inheritance,
    Knowledge,
    LedgerEntry,
    Memory,
    MemorySource,
    Relationship,
    Scene,
    VersionedText,
)

Row = tuple[Any, ...]


def told(chat: Chat) -> list[Row]:
    """Every row of every layer, as it stands, without ids and times: equal for the same story told twice."""
    rows: list[Row] = []
    for memory in _of(Memory, chat).select_related("superseded_by", "valid_from", "valid_to", "character"):
        sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=memory).select_related("message")
        rows.append(
            (
                "memory", memory.tier, memory.kind, memory.text, memory.importance, memory.state,
                memory.retired_reason, memory.superseded_by.text if memory.superseded_by else "",
                _index(memory.valid_from), _index(memory.valid_to), memory.character.name if memory.character else "",
                tuple(sorted((source.message.index, source.lost) for source in sources)),
                tuple(memory.triggers), len(memory.witnessed_by), memory.consolidated,
                tuple(sorted(entity.name for entity in memory.entities.all())),
            )
        )  # fmt: skip
    for arc in _derived(Arc, chat):
        rows.append(("arc", arc.text, arc.state, arc.summary, *_span(arc)))
    for scene in _derived(Scene, chat):
        rows.append(("scene", scene.state, scene.recap, *_span(scene)))
    for entry in _derived(LedgerEntry, chat):
        rows.append(("ledger", entry.entity.name, entry.field, entry.value, entry.state, *_span(entry)))
    for entry in _derived(Knowledge, chat):
        target = entry.target.name if entry.target else ""
        rows.append(("knowledge", entry.kind, entry.subject.name, target, entry.text, entry.state, *_span(entry)))
    for one in _derived(Relationship, chat):
        names = (one.subject.name, one.target.name)
        rows.append(("relationship", *names, one.descriptor, one.magnitude, one.state, *_span(one)))
    for digest in _derived(VersionedText, chat):
        rows.append(("digest", digest.kind, digest.text, digest.version, digest.state, *_span(digest)))
    for row in Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat).select_related("memory"):
        rows.append(("inherited", row.memory.text, row.state, len(row.message_ids)))
    return sorted(rows, key=repr)


def state_hash(chat: Chat) -> str:
    """Equal as long as no row of any layer changes but for confidence; the rows themselves are told apart."""
    ids = [
        sorted(str(pk) for pk in model.objects.for_owner(chat.owner_id).filter(chat=chat).values_list("pk", flat=True))
        for model in (Memory, Arc, Scene, LedgerEntry, Knowledge, Relationship, VersionedText, Entity)
    ]
    return hashlib.sha256(repr((told(chat), ids)).encode()).hexdigest()


def texts(chat: Chat, **filters: Any) -> list[str]:
    """The texts of the chat's memories, active ones unless another state is asked for."""
    given = {"state": "active", "deleted_at": None} | filters
    return sorted(Memory.objects.for_owner(chat.owner_id).filter(chat=chat, **given).values_list("text", flat=True))


def sources_of(memory: Memory) -> list[int]:
    """The indexes of the messages that a memory came from."""
    rows = MemorySource.objects.for_owner(memory.owner_id).filter(memory=memory, lost=False)
    return sorted(rows.values_list("message__index", flat=True))


def _of(model: Any, chat: Chat) -> Any:
    return model.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("pk")


def _derived(model: Any, chat: Chat) -> Any:
    return _of(model, chat).select_related("source", "until")


def _span(row: Any) -> Row:
    return _index(row.source), _index(row.until), row.retired_reason


def _index(message: Any) -> int | None:
    return message.index if message else None
