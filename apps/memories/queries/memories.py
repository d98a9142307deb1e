"""Read memories by tier, by place in the story, and along the chain of replacements."""

from collections.abc import Sequence
from uuid import UUID

from apps.chats.models import Chat, Participant
from apps.memories.lineage import relatives
from apps.memories.models import Memory
from apps.memories.querysets import MemoryQuerySet

LONGEST_CHAIN = 200


def active_memories(chat: Chat, tier: str, character_id: UUID | None) -> MemoryQuerySet:
    """Return the active memories that a chat keeps in a tier.

    Long-term memories are kept by the character, without those learnt in other branches of the same story; session
    memories, and long-term ones where there is no character, by the chat.
    """
    memories: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).active().filter(tier=tier)
    if tier == Memory.Tier.LONG_TERM and character_id:
        return memories.filter(character_id=character_id).exclude(chat__in=relatives(chat))
    return memories.filter(chat=chat)


def memories_between(chat: Chat, start: int, end: int) -> MemoryQuerySet:
    """Return what was learnt from the messages with the indexes ``start`` to ``end``."""
    memories: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).present().filter(chat=chat)
    return memories.filter(valid_from__index__gte=start, valid_from__index__lte=end).order_by("pk")


def replacement_chain(memory: Memory) -> list[Memory]:
    """Return the memory with everything that it replaced and that replaced it, oldest first."""
    mine = Memory.objects.for_owner(memory.owner_id).present().select_related("valid_to", "valid_from")
    older: list[Memory] = []
    level = [memory.pk]
    while level and len(older) < LONGEST_CHAIN:
        found = list(mine.filter(superseded_by__in=level).order_by("-pk"))
        older += found
        level = [predecessor.pk for predecessor in found]
    newer: list[Memory] = []
    successor_id = memory.superseded_by_id
    while successor_id and len(newer) < LONGEST_CHAIN:
        successor = mine.filter(pk=successor_id).first()
        newer += [successor] if successor else []
        successor_id = successor.superseded_by_id if successor else None
    return [*reversed(older), memory, *newer]


def add_witness_names(memories: Sequence[Memory]) -> Sequence[Memory]:
    """Set ``witnesses`` on each memory: the names of its witnesses, or an empty list if everybody witnessed it."""
    ids = {pk for memory in memories for pk in memory.witnessed_by}
    names: dict[UUID, str] = {}
    if ids:
        rows = Participant.objects.for_owner(memories[0].owner_id).filter(pk__in=ids)
        names = dict(rows.values_list("pk", "name"))
    for memory in memories:
        memory.witnesses = [names[pk] for pk in memory.witnessed_by if pk in names]  # type: ignore[attr-defined]
    return memories
