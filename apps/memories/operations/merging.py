"""Makes one memory of several, and several of one; what was there before stays, replaced and linked."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.models import Chat, Message
from apps.common.problems import Conflict, Invalid
from apps.memories.models import Memory, MemorySource
from apps.memories.operations.remembering import supersede, take_back
from apps.memories.operations.texts import set_text

MERGED = "merged"
SPLIT = "split"
UNDONE = "undone"


def merge_memories(
    chat: Chat | None, members: Sequence[Memory], text: str, *, run_id: UUID | None = None, editor: str = ""
) -> int:
    """Put ``text`` in the place of ``members``; how many it replaces: none where one of them was replaced, corrected,
    pinned or deleted meanwhile, since the text is of what they said before."""
    rows = Memory.objects.for_owner(members[0].owner_id).active().select_for_update(of=("self",))
    free = rows.filter(pinned=False, edited_by="", text__in=[member.text for member in members])
    standing = list(free.filter(pk__in=[member.pk for member in members]).order_by("pk"))
    if len(standing) < len(members):
        return 0
    _successor(standing, text, MERGED, run_id=run_id, editor=editor)
    return len(standing)


@transaction.atomic
def merge_by_hand(memories: Sequence[Memory], text: str, *, editor: str) -> Memory:
    """What ``merge_memories`` does, for a person. Raises Invalid where they weren't witnessed by the same people."""
    if len({tuple(memory.witnessed_by) for memory in memories}) > 1:
        raise Invalid.at("/memories", "They were not witnessed by the same people.")
    return _successor(list(memories), text, MERGED, run_id=None, editor=editor)


@transaction.atomic
def split_memory(memory: Memory, texts: Sequence[str], *, editor: str) -> list[Memory]:
    """Several memories in the place of one: it is replaced by the first, and linked to it."""
    parts = [
        _successor([memory], text, SPLIT, run_id=None, editor=editor, replaces=not n) for n, text in enumerate(texts)
    ]
    Memory.objects.for_owner(memory.owner_id).filter(pk__in=[part.pk for part in parts]).update(
        candidate_hash=_split_mark(memory)
    )
    return parts


def _split_mark(memory: Memory) -> str:
    """What the parts of a split bear in place of the hash of a line: it tells whose parts they are."""
    return f"{SPLIT}:{memory.pk}"


def is_merge(memory: Memory) -> bool:
    """Whether it stands for others that were merged into it."""
    return any(member.retired_reason == MERGED for member in memory.supersedes.all())


def whole_of(part: Memory) -> Memory | None:
    """What was split into it and others; None where it is no part of another."""
    mark, _, whole = part.candidate_hash.partition(":")
    return Memory.objects.for_owner(part.owner_id).filter(pk=whole).first() if mark == SPLIT else None


@transaction.atomic
def undo_merge(memory: Memory) -> list[Memory]:
    """What was merged holds again, and is not merged anew by a run; the merge is retired. Raises Conflict."""
    _lock_active(memory)
    members = list(memory.supersedes.filter(retired_reason=MERGED).order_by("pk"))
    if not members:
        raise Conflict("It is no merge of others.")
    take_back(memory.chat or Chat(owner_id=memory.owner_id), [memory], UNDONE)
    mark_consolidated(memory.owner_id, members)
    return members


@transaction.atomic
def undo_split(part: Memory) -> Memory:
    """What was split holds again in the place of ``part`` and the others; they are retired. Raises Conflict."""
    whole = whole_of(part)
    if whole is None:
        raise Conflict("It is no part of another.")
    parts = Memory.objects.for_owner(part.owner_id).filter(candidate_hash=part.candidate_hash)
    parts = parts.exclude(state=Memory.State.RETIRED)
    for one in parts.present():
        _lock_active(one)
    take_back(part.chat or Chat(owner_id=part.owner_id), parts.select_related("superseded_by"), UNDONE)
    whole.refresh_from_db()
    return whole


def _lock_active(memory: Memory) -> None:
    rows = Memory.objects.for_owner(memory.owner_id).active().select_for_update()
    if rows.filter(pk=memory.pk).first() is None:
        raise Conflict("It has changed since, and can't be undone any more.")


def _successor(
    members: list[Memory], text: str, reason: str, *, run_id: UUID | None, editor: str, replaces: bool = True
) -> Memory:
    newest = members[-1]
    sources = list(MemorySource.objects.for_owner(newest.owner_id).filter(memory__in=members).select_related("message"))
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
        triggers=list(dict.fromkeys(word for member in members for word in member.triggers))[:12],
        witnessed_by=members[0].witnessed_by,
        valid_from=_latest(member.valid_from for member in members),
        run_id=run_id,
        edited_by=editor,
        pinned=any(member.pinned for member in members),
    )
    set_text(memory, text)
    memory.save()
    MemorySource.objects.bulk_create(
        [
            MemorySource(
                owner_id=memory.owner_id, memory=memory, message_id=source.message_id, swipe_id=source.swipe_id,
                lost=source.lost,
            )
            for source in {source.swipe_id: source for source in sources}.values()
        ]
    )  # fmt: skip
    memory.entities.set({entity for member in members for entity in member.entities.all()})
    if replaces:
        for member in members:
            supersede(member.chat or Chat(owner_id=member.owner_id), member.pk, memory, reason)
    return memory


def _latest(messages: Iterable[Message | None]) -> Message | None:
    return max(filter(None, messages), key=lambda message: message.index, default=None)


def mark_consolidated(owner: Any, memories: Sequence[Memory]) -> None:
    Memory.objects.for_owner(owner).filter(pk__in=[memory.pk for memory in memories]).update(consolidated=True)
