"""Merge several memories into one, or split one into several. The originals are superseded."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from apps.chats.models import Chat
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import Owner
from apps.memories.models import Memory, MemorySource, RetiredReason
from apps.memories.operations.memories import latest_message, retract_memories, set_text, supersede

MAX_TRIGGERS = 12


def merge_memories(members: Sequence[Memory], text: str, *, run_id: UUID) -> int:
    """Merge memories for a run. Return how many were merged.

    Return 0 if one of them was superseded, edited, pinned or deleted in the meantime, since ``text`` was made from
    their earlier texts.
    """
    rows = Memory.objects.for_owner(members[0].owner_id).active().select_for_update(of=("self",))
    unchanged = rows.filter(pinned=False, edited_by="", text__in=[member.text for member in members])
    locked = list(unchanged.filter(pk__in=[member.pk for member in members]).order_by("pk"))
    if len(locked) < len(members):
        return 0
    _replace(locked, text, RetiredReason.MERGED, run_id=run_id)
    return len(locked)


@transaction.atomic
def merge_by_hand(memories: Sequence[Memory], text: str, *, editor: str) -> Memory:
    """Merge memories for a person. Raise Invalid if their witnesses differ, Conflict if one is no longer active."""
    if len({tuple(memory.witnessed_by) for memory in memories}) > 1:
        raise Invalid.at("/memories", "They were not witnessed by the same people.")
    for memory in sorted(memories, key=lambda memory: memory.pk):
        _lock_active(memory)
    return _replace(list(memories), text, RetiredReason.MERGED, editor=editor)


@transaction.atomic
def split_memory(memory: Memory, texts: Sequence[str], *, editor: str) -> list[Memory]:
    """Split a memory into one for each text. The first of them supersedes it. Raise Conflict if it is not active."""
    _lock_active(memory)
    first, *others = (_successor([memory], text, editor=editor, split_from=memory) for text in texts)
    supersede(memory.chat or Chat(owner_id=memory.owner_id), memory.pk, first, RetiredReason.SPLIT)
    return [first, *others]


def is_merge(memory: Memory) -> bool:
    """Return whether the memory was created by a merge."""
    return any(member.retired_reason == RetiredReason.MERGED for member in memory.supersedes.all())


@transaction.atomic
def undo_merge(memory: Memory) -> list[Memory]:
    """Retire a merged memory and make its members active again. Return the members.

    Runs don't merge them again. Raise Conflict if the memory is not a merge, or no longer active.
    """
    _lock_active(memory)
    members = list(memory.supersedes.filter(retired_reason=RetiredReason.MERGED).order_by("pk"))
    if not members:
        raise Conflict("This memory was not created by a merge.")
    retract_memories(memory.chat or Chat(owner_id=memory.owner_id), [memory], RetiredReason.UNDONE)
    mark_consolidated(memory.owner_id, members)
    return members


@transaction.atomic
def undo_split(part: Memory) -> Memory:
    """Retire all parts of the split that made ``part``, and make the original active again. Return the original.

    Raise Conflict if the memory is not part of a split, or if one of the parts is no longer active.
    """
    original = part.split_from
    if original is None:
        raise Conflict("This memory was not created by a split.")
    parts = Memory.objects.for_owner(part.owner_id).filter(split_from=original).exclude(state=Memory.State.RETIRED)
    for sibling in parts.present():
        _lock_active(sibling)
    chat = part.chat or Chat(owner_id=part.owner_id)
    retract_memories(chat, parts.select_related("superseded_by"), RetiredReason.UNDONE)
    original.refresh_from_db()
    return original


def _lock_active(memory: Memory) -> None:
    """Lock a memory's row. Raise Conflict if it is no longer active."""
    rows = Memory.objects.for_owner(memory.owner_id).active().select_for_update()
    if rows.filter(pk=memory.pk).first() is None:
        raise Conflict("It was changed in the meantime, so this can no longer be undone.")


def _replace(
    members: list[Memory], text: str, reason: RetiredReason, *, run_id: UUID | None = None, editor: str = ""
) -> Memory:
    """Create a memory that supersedes ``members``."""
    successor = _successor(members, text, run_id=run_id, editor=editor)
    for member in members:
        supersede(member.chat or Chat(owner_id=member.owner_id), member.pk, successor, reason)
    return successor


def _successor(
    members: list[Memory], text: str, *, editor: str, run_id: UUID | None = None, split_from: Memory | None = None
) -> Memory:
    """Create a memory with the sources, entities, triggers and flags of ``members``."""
    newest = members[-1]
    memory = Memory(
        owner_id=newest.owner_id,
        chat_id=newest.chat_id,
        character_id=newest.character_id,
        tier=newest.tier,
        kind=newest.kind,
        importance=max(member.importance for member in members),
        expiration=newest.expiration,
        confidence=max(member.confidence for member in members),
        consolidated=True,
        triggers=list(dict.fromkeys(word for member in members for word in member.triggers))[:MAX_TRIGGERS],
        witnessed_by=members[0].witnessed_by,
        valid_from=latest_message(member.valid_from for member in members),
        pinned=any(member.pinned for member in members),
        edited_by=editor,
        run_id=run_id,
        split_from=split_from,
    )
    set_text(memory, text)
    memory.save()
    sources = MemorySource.objects.for_owner(newest.owner_id).filter(memory__in=members)
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
    memory.entities.set({entity for member in members for entity in member.entities.all()})
    return memory


def mark_consolidated(owner: Owner, memories: Sequence[Memory]) -> None:
    """Keep runs from considering memories for a merge again."""
    Memory.objects.for_owner(owner).filter(pk__in=[memory.pk for memory in memories]).update(consolidated=True)
