"""Memories and events in the shape that mem0's clients read."""

import datetime as dt
import hashlib
from typing import Any

from apps.chats.dates import timestamp
from apps.mem0.events import memories_of, status_of
from apps.mem0.models import Mem0Chat, Mem0Event
from apps.memories.models import Memory
from apps.memories.queries.history import HistoryEvent, history_of

EVENTS = {"added": "ADD", "corrected": "UPDATE", "superseded": "UPDATE", "retired": "DELETE"}


def ids_of(memory: Memory) -> dict[str, str | None]:
    """Return the ids with which a memory was added. It must be loaded with its chat."""
    place: Mem0Chat | None = getattr(memory.chat, "mem0", None) if memory.chat else None
    ids = {"user_id": memory.namespace, "agent_id": place and place.agent}
    ids |= {"app_id": place and place.app, "run_id": place and place.run}
    return {name: value or None for name, value in ids.items()}


def memory_document(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.pk),
        "memory": memory.text,
        **ids_of(memory),
        # mem0's own hash of a text, by which clients may compare.
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": memory.metadata or None,
        "categories": memory.tags,
        "immutable": False,
        "expiration_date": _expiry(memory.expires_at),
        "created_at": timestamp(memory.created_at),
        "updated_at": timestamp(memory.updated_at),
    }


def _expiry(expires_at: dt.datetime | None) -> str | None:
    """Return when a memory expires: a client that sends it back changes nothing.

    That is the last day on which it is found, in UTC, or the last moment of one that expires within a day.
    """
    if expires_at is None:
        return None
    if expires_at.year == dt.MINYEAR:
        return expires_at.date().isoformat()
    last = expires_at.astimezone(dt.UTC) - dt.timedelta(microseconds=1)
    return last.date().isoformat() if expires_at.astimezone(dt.UTC).time() == dt.time() else timestamp(last)


def event_document(event: Mem0Event) -> dict[str, Any]:
    run = event.run
    started, finished = (run.started_at, run.finished_at) if run else (event.created_at, event.created_at)
    latency = (finished - event.created_at).total_seconds() * 1000 if finished else None
    return {
        "id": str(event.pk),
        "event_type": "ADD",
        "status": status_of(event),
        "payload": {},
        "metadata": event.metadata,
        "results": [added_document(memory) for memory in memories_of(event)],
        "error": run.error or None if run else None,
        "created_at": timestamp(event.created_at),
        "updated_at": timestamp(finished or started or event.created_at),
        "started_at": timestamp(started),
        "completed_at": timestamp(finished),
        "latency": latency,
    }


def added_document(memory: Memory) -> dict[str, Any]:
    return {"id": str(memory.pk), "memory": memory.text, "data": {"memory": memory.text}, "event": "ADD"}


def history_documents(memory: Memory) -> list[dict[str, Any]]:
    """Return what happened to a memory, also to a deleted one, whose history is told like that of any other."""
    events = history_of(memory)
    if memory.deleted_at and memory.state != Memory.State.RETIRED:  # which is told as a deletion already
        events.append(HistoryEvent("retired", memory.pk, memory.text, memory.deleted_at))
    return [_history_document(number, memory, event) for number, event in enumerate(events)]


def _history_document(number: int, memory: Memory, event: HistoryEvent) -> dict[str, Any]:
    is_gone = event.event == "retired"
    at = timestamp(event.at or memory.created_at)
    return {
        "id": f"{event.memory}-{number}",
        "memory_id": str(event.memory),
        "input": [],
        "old_memory": event.text if is_gone else event.former_text,
        "new_memory": None if is_gone else event.text,
        "event": EVENTS[event.event],
        "metadata": memory.metadata or None,
        "categories": memory.tags,
        "user_id": memory.namespace or None,
        "created_at": at,
        "updated_at": at,
    }
