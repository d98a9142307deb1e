"""Read memories by tier, by position in the chat, and along the chain of replacements."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import Exists, Q

from apps.chats.models import Chat, Participant
from apps.common.scoping import Owner
from apps.memories.models import Memory
from apps.memories.other_branches import is_copy
from apps.memories.visibility import MemoryQuerySet

MAX_CHAIN_LENGTH = 200


def active_memories(chat: Chat, tier: str, character_id: UUID | None) -> MemoryQuerySet:
    """Return the memories of a tier that are active in a chat, inherited ones as the branch has them.

    Long-term memories are the character's, except those learnt in other branches of the same story; session memories,
    and long-term ones where there is no character, are the chat's.
    """
    memories: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).filter(tier=tier)
    if tier == Memory.Tier.LONG_TERM and character_id:
        return memories.active_in(chat, character_id).filter(character_id=character_id)
    return memories.learnt_in(chat).present().filter(state_here=Memory.State.ACTIVE)


def with_copies(owner: Owner, ids: Collection[UUID]) -> MemoryQuerySet:
    """Return the memories with these ids and their copies in branches: on pages they are changed as one."""
    chosen = Memory.objects.for_owner(owner).filter(pk__in=ids)
    memories: MemoryQuerySet = Memory.objects.for_owner(owner)
    is_listed = Q(pk__in=ids)
    copies = Q(story__in=chosen.values("story")) & Exists(chosen.filter(is_copy()))
    return memories.filter(is_listed | copies).order_by("pk")


def memories_between(chat: Chat, start: int, end: int) -> MemoryQuerySet:
    """Return memories that are valid from a message of the chat with an index from ``start`` to ``end``.

    Those that lost their messages, or that a fresh start set aside, are excluded.
    """
    memories: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).present().learnt_in(chat)
    memories = memories.exclude(state_here=Memory.State.RETIRED)
    return memories.filter(begins_index__gte=start, begins_index__lte=end).order_by("pk")


def replacement_chain(memory: Memory) -> list[Memory]:
    """Return the memory with its predecessors and successors, oldest first."""
    memories = Memory.objects.for_owner(memory.owner_id).undeleted().select_related("valid_to", "valid_from")
    predecessors: list[Memory] = []
    level = [memory.pk]
    while level and len(predecessors) < MAX_CHAIN_LENGTH:
        replaced = list(memories.filter(superseded_by__in=level).order_by("-pk"))
        predecessors += replaced
        level = [predecessor.pk for predecessor in replaced]
    successors: list[Memory] = []
    successor_id = memory.superseded_by_id
    while successor_id and len(successors) < MAX_CHAIN_LENGTH:
        successor = memories.filter(pk=successor_id).first()
        successors += [successor] if successor else []
        successor_id = successor.superseded_by_id if successor else None
    return [*reversed(predecessors), memory, *successors]


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
