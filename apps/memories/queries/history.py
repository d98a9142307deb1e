"""Tell what has happened to a memory, from what is kept of it and of those that it replaced."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from apps.memories.models import Memory
from apps.memories.queries.memories import replacement_chain


@dataclass(frozen=True)
class HistoryEvent:
    """Something that happened to a memory. ``at`` is None where the time is not kept."""

    KINDS: ClassVar[tuple[str, ...]] = ("added", "corrected", "superseded", "retired")

    event: str
    memory: UUID
    text: str
    at: dt.datetime | None = None
    former_text: str | None = None
    by: str = ""
    successor: UUID | None = None
    reason: str = ""


def history_of(memory: Memory) -> list[HistoryEvent]:
    """Return what happened to a memory, to those that it replaced, and to those that replaced it, oldest first."""
    chain = replacement_chain(memory)
    created = {row.pk: row.created_at for row in chain}
    return [event for row in chain for event in _events(row, created)]


def _events(memory: Memory, created: dict[UUID, dt.datetime]) -> Iterator[HistoryEvent]:
    first, *later = [*memory.former_texts, memory.text]
    written = memory.edited_by if memory.run_id is None and not later else ""
    yield HistoryEvent("added", memory.pk, first, memory.created_at, by=written)
    for number, text in enumerate(later, 1):
        # Of earlier corrections, and of those of a memory that was deleted later, no time is stored.
        at = memory.updated_at if number == len(later) and memory.deleted_at is None else None
        former = memory.former_texts[number - 1]
        yield HistoryEvent("corrected", memory.pk, text, at, former_text=former, by=memory.edited_by)
    reason = memory.retired_reason
    if memory.state == Memory.State.SUPERSEDED:
        successor = memory.superseded_by_id
        at = created.get(successor) if successor else None
        yield HistoryEvent("superseded", memory.pk, memory.text, at, successor=successor, reason=reason)
    elif memory.state == Memory.State.RETIRED:
        yield HistoryEvent("retired", memory.pk, memory.text, memory.updated_at, reason=reason)
