"""Let a memory supersede another one, take that back, and retract what should not have been learnt."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from apps.chats.models import Chat
from apps.memories.models import Inheritance, Memory, RetiredReason, Supersession
from apps.memories.signals import memories_changed


def supersede(chat: Chat, target: UUID, successor: Memory, reason: str = "", *, keep_pinned: bool = False) -> None:
    """Mark the memory ``target`` as superseded by ``successor``, with an optional RetiredReason.

    In a branch that inherited the target, only its inheritance changes: the parent keeps the memory. A target of
    another story than the successor's is superseded only where the successor is seen. With ``keep_pinned`` a pinned
    memory is not changed.
    """
    fields = {
        "state": Memory.State.SUPERSEDED,
        "retired_reason": reason,
        "superseded_by": successor,
        "valid_to": successor.valid_from,
    }
    own = Memory.objects.for_owner(chat.owner_id).filter(pk=target)
    if keep_pinned and own.filter(pinned=True).exists():
        return
    inherited = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=target)
    of_another_story = own.exclude(story=successor.story).exists()
    _link_to_successor(target, successor)
    if inherited.exists() and not of_another_story:
        inherited.exclude(state=Memory.State.SUPERSEDED).update(**fields)
    else:
        own.exclude(state=Memory.State.SUPERSEDED).update(**fields, updated_at=timezone.now())
        memories_changed.send(Memory, owner_id=chat.owner_id, ids=[target])


def undo_supersede(chat: Chat, target: UUID, successor: UUID) -> None:
    """Undo ``supersede`` for a target that ``successor`` superseded in the chat."""
    links = Supersession.objects.for_owner(chat.owner_id)
    links.filter(memory__in=_replaced_with(chat.owner_id, target), successor=successor).delete()
    superseded = {"superseded_by": successor, "state": Memory.State.SUPERSEDED}
    restored = {"superseded_by": None, "state": Memory.State.ACTIVE, "valid_to": None}
    memories = Memory.objects.for_owner(chat.owner_id).filter(pk=target, **superseded)
    if memories.update(**restored, updated_at=timezone.now()):
        memories_changed.send(Memory, owner_id=chat.owner_id, ids=[target])
    Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=target, **superseded).update(**restored)
    others = list(links.filter(memory=target).values_list("successor_id", flat=True))
    update_superseded_by_another_story(chat.owner_id, others)


def _link_to_successor(target: UUID, successor: Memory) -> None:
    """Link ``successor`` to what it replaces of other stories: the target, and what that had replaced."""
    owner_id = successor.owner_id
    of_other_stories = (
        Memory.with_bin.for_owner(owner_id)
        .filter(pk__in=_replaced_with(owner_id, target))
        .exclude(Q(story=successor.story) | Q(pk=successor.pk))
    )
    links = [Supersession(owner_id=owner_id, memory=memory, successor=successor) for memory in of_other_stories]
    Supersession.objects.bulk_create(links, ignore_conflicts=True)


def _replaced_with(owner_id: UUID, target: UUID) -> set[UUID]:
    """Return the ids of the target and of what it had replaced, which branches may still have active."""
    replaced, level = {target}, {target}
    while level:
        own = Memory.with_bin.for_owner(owner_id).filter(superseded_by__in=level).values_list("pk", flat=True)
        inherited = Inheritance.objects.for_owner(owner_id).filter(superseded_by__in=level)
        linked = Supersession.objects.for_owner(owner_id).filter(successor__in=level)
        level = {*own, *inherited.values_list("memory_id", flat=True), *linked.values_list("memory_id", flat=True)}
        level -= replaced
        replaced |= level
    return replaced


def update_superseded_by_another_story(owner_id: UUID, successors: Collection[UUID]) -> None:
    """Update the rows of memories that any of ``successors``, of another story, replaced, after these have changed.

    A row has the state that the chats of its own story see: superseded if one of its successors is neither retired nor
    in the bin, else active. What its own story superseded or retired stays so.
    """
    links = Supersession.objects.for_owner(owner_id).select_related("successor").order_by("pk")
    replaced = links.filter(successor__in=successors).values("memory")
    for row in Memory.with_bin.for_owner(owner_id).filter(pk__in=replaced).exclude(state=Memory.State.RETIRED):
        all_successors = [link.successor for link in links.filter(memory=row)]
        if row.state == Memory.State.SUPERSEDED and row.superseded_by not in all_successors:
            continue
        seen = [one for one in all_successors if one.state != Memory.State.RETIRED and not one.in_bin]
        row.state = Memory.State.SUPERSEDED if seen else Memory.State.ACTIVE
        if seen and row.superseded_by not in seen:
            row.superseded_by, row.valid_to, row.retired_reason = seen[-1], seen[-1].valid_from, ""
        row.save(update_fields=["state", "superseded_by", "valid_to", "retired_reason", "updated_at"])


def retract_memories(memories: Iterable[Memory], reason: str) -> None:
    """Retire memories with a RetiredReason, and restore the memories that each had superseded.

    These include what the memory's chat had inherited. They become active again or, if the retracted memory has a
    successor that isn't retired, superseded by that one. What a fresh start has set aside stays so.
    """
    for memory in sorted(memories, key=lambda memory: memory.pk):
        set_aside = memory.retired_reason == RetiredReason.FRESH_START
        memory.state, memory.retired_reason = Memory.State.RETIRED, reason
        memory.save(update_fields=["state", "retired_reason", "updated_at"])
        successor = memory.superseded_by
        if successor is not None and successor.story != memory.story:
            successor = None  # the supersessions say where it is seen
        fields: dict[str, Any] = {"state": Memory.State.ACTIVE, "superseded_by": None, "valid_to": None}
        if successor is not None and successor.state != Memory.State.RETIRED:
            fields = {"superseded_by": successor, "valid_to": successor.valid_from}
        elif set_aside:
            fields["state"] = Memory.State.RETIRED
        fields["retired_reason"] = RetiredReason.FRESH_START if fields.get("state") == Memory.State.RETIRED else ""
        superseded = {"superseded_by": memory, "state": Memory.State.SUPERSEDED}
        Memory.objects.for_owner(memory.owner_id).filter(**superseded).update(**fields, updated_at=timezone.now())
        inherited = Inheritance.objects.for_owner(memory.owner_id).filter(chat=memory.chat_id, **superseded)
        inherited.update(**fields)
        update_superseded_by_another_story(memory.owner_id, [memory.pk])
