"""Redo supersessions whose memories stand the other way round since their messages were moved."""

from itertools import pairwise

from django.db.models import F
from django.utils import timezone

from apps.chats.models import Chat
from apps.memories.models import Memory
from apps.memories.visibility import MemoryQuerySet


def follow_order(chat: Chat) -> None:
    """Let what was said later, as the messages stand now, supersede what was said earlier.

    Only memories of runs are linked again: what a person decided, edited or pinned stays. Must be called in a
    transaction that holds the chat's lock.
    """
    while memory := _turned_round(chat):
        chain = _chain_of(chat, memory)
        last = chain[0]
        place = {"state": last.state, "superseded_by": last.superseded_by, "valid_to": last.valid_to}
        chain.sort(key=lambda row: (row.valid_from.index if row.valid_from else 0, row.pk))
        for earlier, later in pairwise(chain):
            _save(earlier, state=Memory.State.SUPERSEDED, superseded_by=later, valid_to=later.valid_from)
        _save(chain[-1], **place)


def _of_runs(chat: Chat) -> MemoryQuerySet:
    """Return the memories of the chat that runs may supersede or have superseded."""
    rows: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id)
    rows = rows.filter(chat=chat, run__isnull=False, edited_by="", retired_reason="", pinned=False)
    rows = rows.exclude(state=Memory.State.RETIRED)
    return rows.filter(valid_from__isnull=False).select_related("superseded_by", "valid_from")


def _turned_round(chat: Chat) -> Memory | None:
    """Return a memory that is superseded by one from an earlier message."""
    rows = _of_runs(chat).filter(state=Memory.State.SUPERSEDED, superseded_by__in=_of_runs(chat).values("pk"))
    return rows.filter(valid_from__index__gt=F("superseded_by__valid_from__index")).order_by("pk").first()


def _chain_of(chat: Chat, memory: Memory) -> list[Memory]:
    """Return the memory with all that it is superseded by, the last of them first, and all that they superseded."""
    while memory.superseded_by_id and (later := _of_runs(chat).filter(pk=memory.superseded_by_id).first()):
        memory = later
    chain = [memory]
    for row in chain:  # grows meanwhile
        chain += _of_runs(chat).filter(superseded_by=row, state=Memory.State.SUPERSEDED).order_by("pk")
    return chain


def _save(memory: Memory, **fields: object) -> None:
    for name, value in fields.items():
        setattr(memory, name, value)
    memory.updated_at = timezone.now()
    memory.save(update_fields=[*fields, "updated_at"])
