"""Merge several memories into one, or split one into several. The originals are superseded."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, prefetch_related_objects
from django.utils.translation import gettext

from apps.chats.models import MAX_TAGS, Chat, Message
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import Owner
from apps.memories.models import Inheritance, Memory, MemorySource, RetiredReason
from apps.memories.operations.memories import Vector, latest_message, link_sources, set_text, vectors_of
from apps.memories.operations.superseding import retract_memories, supersede
from apps.memories.signals import memories_written
from apps.memories.trigger_words import MAX_WORDS
from apps.memories.visibility import MemoryQuerySet

# Columns in which members are alike, or of which the last said holds.
_OF_NEWEST = ("owner_id", "namespace", "story", "character_id", "tier", "kind", "expiration")


def merge_memories(
    chat: Chat, members: Sequence[Memory], text: str, *, run_id: UUID, vector: Vector | None = None
) -> int:
    """Merge memories that a chat learnt or inherited, for a run. Return how many were merged.

    Return 0 if one of them was superseded, edited, pinned or deleted in the meantime, since ``text`` was made from
    their earlier texts.
    """
    rows = Memory.objects.for_owner(chat.owner_id).learnt_in(chat).present().select_for_update(of=("self",))
    unchanged = rows.filter(state_here=Memory.State.ACTIVE).filter(
        pinned=False, edited_by="", text__in=[member.text for member in members]
    )
    locked = list(unchanged.filter(pk__in=[member.pk for member in members]).order_by("pk"))
    if len(locked) < len(members):
        return 0
    successor = _successor(locked, text, chat=chat, vector=vector, run_id=run_id)
    for member in locked:
        supersede(chat, member.pk, successor, RetiredReason.MERGED)
    return len(locked)


def obstacle_to_merge(memories: Sequence[Memory]) -> str:
    """Return why memories can't become one, or an empty string."""
    if len({(memory.tier, memory.character_id) for memory in memories}) > 1:
        return gettext("They must be of one tier and of one character.")
    if len({memory.namespace for memory in memories}) > 1:
        return gettext("They must be of one namespace.")
    if len({tuple(memory.witnessed_by) for memory in memories}) > 1:
        return gettext("They were not witnessed by the same people.")
    chats = {(memory.story, memory.chat_id) for memory in memories if memory.story}
    if len(chats) > len({story for story, _ in chats}):
        return gettext("They were learnt in different branches of one story.")
    return ""


@transaction.atomic
def merge_by_hand(memories: Sequence[Memory], text: str, *, editor: str) -> Memory:
    """Merge memories for a person. Return the new one, which belongs to the chat of the newest.

    Raise Invalid if they can't become one memory, Conflict if one is no longer active or was changed since it was read.
    """
    if obstacle := obstacle_to_merge(memories):
        raise Invalid.at("/memories", obstacle)
    [vector] = vectors_of(memories[0].owner_id, [text])
    locked = _lock_unchanged(memories, gettext("Choose at least two active memories."))
    successor = _successor(locked, text, vector=vector, edited_by=editor)
    for memory in locked:
        supersede(memory.chat or Chat(owner_id=memory.owner_id), memory.pk, successor, RetiredReason.MERGED)
    memories_written.send(Memory, owner_id=successor.owner_id, ids=[successor.pk])
    return successor


@transaction.atomic
def split_memory(memory: Memory, texts: Sequence[str], *, editor: str) -> list[Memory]:
    """Split a memory into one for each text. The first of them supersedes it.

    Raise Conflict if it is not active, or was changed since it was read.
    """
    vectors = vectors_of(memory.owner_id, texts)
    [locked] = _lock_unchanged([memory], gettext("Only an active memory can be split."))
    parts = [
        _successor([locked], text, split_from=locked, vector=vector, edited_by=editor)
        for text, vector in zip(texts, vectors, strict=True)
    ]
    supersede(locked.chat or Chat(owner_id=locked.owner_id), locked.pk, parts[0], RetiredReason.SPLIT)
    memories_written.send(Memory, owner_id=memory.owner_id, ids=[part.pk for part in parts])
    return parts


def is_merge(memory: Memory) -> bool:
    """Return whether the memory was created by a merge."""
    return _merged_members(memory).exists()


def _merged_members(memory: Memory) -> MemoryQuerySet:
    """Return the memories that were merged into this one, by its chat or by a person."""
    inherited = Inheritance.objects.for_owner(memory.owner_id).filter(
        chat=memory.chat_id, superseded_by=memory, retired_reason=RetiredReason.MERGED
    )
    own = Q(superseded_by=memory, retired_reason=RetiredReason.MERGED)
    members: MemoryQuerySet = Memory.objects.for_owner(memory.owner_id)
    return members.filter(own | Q(pk__in=inherited.values("memory_id")))


@transaction.atomic
def undo_merge(memory: Memory) -> list[Memory]:
    """Retire a merged memory and make its members active again. Return the members.

    Runs don't merge them again. Raise Conflict if the memory is not a merge, or no longer active.
    """
    _lock_active(memory.owner_id, [memory])
    members = list(_merged_members(memory).order_by("pk"))
    if not members:
        raise Conflict(gettext("This memory was not created by a merge."))
    retract_memories([memory], RetiredReason.UNDONE)
    mark_consolidated(memory.owner_id, members)
    return members


@transaction.atomic
def undo_split(part: Memory) -> Memory:
    """Retire all parts of the split that made ``part``, and make the original active again. Return the original.

    Raise Conflict if the memory is not part of a split, or if one of the parts is no longer active.
    """
    original = part.split_from
    if original is None:
        raise Conflict(gettext("This memory was not created by a split."))
    parts = Memory.objects.for_owner(part.owner_id).filter(split_from=original).exclude(state=Memory.State.RETIRED)
    _lock_active(part.owner_id, parts.present())
    retract_memories(parts.select_related("superseded_by"), RetiredReason.UNDONE)
    original.refresh_from_db()
    return original


def _lock_active(owner: Owner, memories: Collection[Memory], otherwise: str = "") -> list[Memory]:
    """Lock the rows of memories, and return them in the order of ``memories``.

    Raise Conflict if one is no longer active, with what is to be said ``otherwise``.
    """
    rows = Memory.objects.for_owner(owner).active().select_related("chat").select_for_update(of=("self",))
    locked = {row.pk: row for row in rows.filter(pk__in=[memory.pk for memory in memories]).order_by("pk")}
    if len(locked) < len(memories):
        raise Conflict(otherwise or gettext("It was changed in the meantime, so this can no longer be undone."))
    return [locked[memory.pk] for memory in memories]


def _lock_unchanged(memories: Sequence[Memory], otherwise: str) -> list[Memory]:
    """Lock memories as ``_lock_active`` does. Raise Conflict also if one was changed since it was read.

    A model may have embedded the new text in between, for seconds, and that text was made from what was read.
    """
    locked = _lock_active(memories[0].owner_id, memories, otherwise)
    for memory, row in zip(memories, locked, strict=True):
        if (row.text, row.updated_at) != (memory.text, memory.updated_at):
            raise Conflict(gettext("The text was changed or deleted since you read it. Read it again."))
    prefetch_related_objects(locked, "entities")
    return locked


def _successor(
    members: Sequence[Memory],
    text: str,
    *,
    chat: Chat | None = None,
    split_from: Memory | None = None,
    vector: Vector | None = None,
    **columns: Any,
) -> Memory:
    """Create a memory with the sources, entities, triggers and flags of ``members``.

    It belongs to ``chat``, with the chat's copies of inherited sources; by default to the chat of the newest member.
    """
    newest = members[-1]
    inherited = Inheritance.objects.for_owner(newest.owner_id).filter(chat=chat, memory__in=members) if chat else ()
    inheritances = {row.memory_id: row for row in inherited}
    memory = Memory(
        chat=chat or newest.chat,
        split_from=split_from,
        text=split_from.text if split_from else "",  # of which only the words that the part has still recall it
        consolidated=True,
        **{name: getattr(newest, name) for name in _OF_NEWEST},
        **_joined_columns(members, inheritances),
        **columns,
    )
    set_text(memory, text, vector)
    memory.save()
    _copy_sources(memory, members, inheritances)
    memory.entities.set({entity for member in members for entity in member.entities.all()})
    return memory


def _joined_columns(members: Sequence[Memory], inheritances: Mapping[UUID, Inheritance]) -> dict[str, Any]:
    """Return the columns that a successor gets from all members, as the chat that merges them has them."""
    here = [inheritances.get(member.pk, member) for member in members]
    return {
        "metadata": {key: value for member in members for key, value in member.metadata.items()},
        "tags": list(dict.fromkeys(tag for member in members for tag in member.tags))[:MAX_TAGS],
        # Nothing that is to be forgotten outlives its day in another memory.
        "expires_at": min((member.expires_at for member in members if member.expires_at), default=None),
        "importance": max(member.importance for member in members),
        "confidence": max(row.confidence for row in here),
        "triggers": list(dict.fromkeys(word for member in members for word in member.triggers))[:MAX_WORDS],
        "witnessed_by": members[0].witnessed_by,
        "valid_from": latest_message(row.valid_from for row in here),
        "pinned": any(member.pinned for member in members),
        "source_instance": next((one.source_instance for one in reversed(members) if one.source_instance), ""),
        "participating_instances": sorted({name for member in members for name in member.participating_instances}),
    }


def _copy_sources(memory: Memory, members: Sequence[Memory], inheritances: Mapping[UUID, Inheritance]) -> None:
    """Link a successor to the sources of its members, of inherited ones to the copies that the chat has."""
    own = [member for member in members if member.pk not in inheritances]
    sources = MemorySource.objects.for_owner(memory.owner_id).filter(memory__in=own)
    MemorySource.objects.bulk_create(
        MemorySource(
            owner_id=memory.owner_id,
            memory=memory,
            message_id=source.message_id,
            swipe_id=source.swipe_id,
            lost=source.lost,
        )
        for source in {source.swipe_id: source for source in sources}.values()
    )
    copies = {pk for row in inheritances.values() for pk in row.message_ids}
    messages = Message.objects.for_owner(memory.owner_id).with_swipes().filter(pk__in=copies)
    link_sources(memory.owner_id, memory.pk, messages)


def mark_consolidated(owner: Owner, memories: Sequence[Memory]) -> None:
    """Record that a merge has considered the memories: runs don't count them as new, so they start no merge."""
    Memory.objects.for_owner(owner).filter(pk__in=[memory.pk for memory in memories]).update(consolidated=True)
