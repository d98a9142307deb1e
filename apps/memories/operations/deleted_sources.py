"""Keep what memories lose when messages or swipes are deleted, and give it back when the deletion is undone.

Layer entries need no such thing: a message that comes back is read again.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.chats.models import Chat, Message, Swipe
from apps.memories.models import LOST, Memory, MemorySource

_MESSAGES = ("valid_from_id", "valid_to_id")
_IDS = ("id", "superseded_by_id", *_MESSAGES)


def save_sources(chat: Chat, message_ids: Collection[UUID], swipe_ids: Collection[UUID]) -> dict[str, Any]:
    """Return the sources that are about to be deleted, and the state of the memories that refer to the messages."""
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(swipe__in=swipe_ids)
    learnt = sources.values("memory")
    of_messages = Q(valid_from__in=message_ids) | Q(valid_to__in=message_ids)
    memories = Memory.objects.for_owner(chat.owner_id).filter(
        Q(pk__in=learnt) | Q(superseded_by__in=learnt) | of_messages
    )
    return {
        "sources": [
            {"memory": str(row.memory_id), "message": str(row.message_id), "swipe": str(row.swipe_id), "lost": row.lost}
            for row in sources
        ],
        "memories": [
            row | {name: row[name] and str(row[name]) for name in _IDS}
            for row in memories.values(*_IDS, "state", "retired_reason")
        ],
    }


def restore_sources(chat: Chat, saved: dict[str, Any]) -> None:
    """Link memories to the restored messages. Those retired since for want of a source become what they were."""
    before = {
        UUID(row["id"]): row | {name: row[name] and UUID(row[name]) for name in _IDS} for row in saved["memories"]
    }
    rows = Memory.objects.for_owner(chat.owner_id)
    memories = {row.pk: row for row in rows.filter(pk__in=before)}
    _restore_links(chat, saved["sources"], memories)
    returning = {pk for pk, memory in memories.items() if _may_return(memory, before[pk]["state"])}
    successors = rows.filter(pk__in=[row["superseded_by_id"] for row in before.values()])
    standing = returning | set(successors.exclude(state=Memory.State.RETIRED).values_list("pk", flat=True))
    messages = {row[name] for row in before.values() for name in _MESSAGES}
    present = set(Message.objects.for_owner(chat.owner_id).filter(pk__in=messages).values_list("pk", flat=True))
    for pk, memory in memories.items():
        earlier = before[pk]
        was_freed = memory.is_active and earlier["superseded_by_id"] in returning
        if pk in returning or was_freed:
            _restore_state(memory, earlier, standing)
        if earlier["valid_from_id"] in present:  # it was moved to the latest source that was left
            memory.valid_from_id = earlier["valid_from_id"]
        if memory.valid_to_id is None and earlier["valid_to_id"] in present:
            memory.valid_to_id = earlier["valid_to_id"]
        if memory.superseded_by_id is None:
            memory.valid_to = None
        memory.save(update_fields=["state", "retired_reason", "superseded_by", "valid_from", "valid_to", "updated_at"])


def _restore_state(memory: Memory, earlier: dict[str, Any], standing: Collection[UUID]) -> None:
    """Make a memory what it was, but active if the one that had superseded it is retired by now."""
    if earlier["superseded_by_id"] in (None, *standing):
        memory.state, memory.retired_reason = earlier["state"], earlier["retired_reason"]
        memory.superseded_by_id = earlier["superseded_by_id"]
    else:
        memory.state, memory.retired_reason, memory.superseded_by = Memory.State.ACTIVE, "", None


def _restore_links(chat: Chat, sources: Collection[dict[str, Any]], memories: Collection[UUID]) -> None:
    swipes = Swipe.objects.for_owner(chat.owner_id).filter(pk__in=[source["swipe"] for source in sources])
    present = set(swipes.values_list("pk", flat=True))
    rows = [
        MemorySource(
            owner_id=chat.owner_id,
            memory_id=UUID(source["memory"]),
            message_id=UUID(source["message"]),
            swipe_id=UUID(source["swipe"]),
            lost=source["lost"],
        )
        for source in sources
    ]
    rows = [row for row in rows if row.memory_id in memories and row.swipe_id in present]
    MemorySource.objects.bulk_create(rows, ignore_conflicts=True)


def _may_return(memory: Memory, state_before: str) -> bool:
    """Return whether a memory was retired when it lost its source, and the same was not learnt again since."""
    was_lost = memory.state == Memory.State.RETIRED and memory.retired_reason in LOST
    if not was_lost or state_before == Memory.State.RETIRED:
        return False
    others = Memory.objects.for_owner(memory.owner_id).active()
    same = others.filter(chat=memory.chat_id, character=memory.character_id, tier=memory.tier, text=memory.text)
    return not same.exists()
