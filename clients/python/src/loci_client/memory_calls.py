"""The calls about memories and the journal."""

import json
from collections.abc import Mapping
from typing import Any

from loci_client.calls import ask, path
from loci_client.chat_calls import pages
from loci_client.errors import NotFound
from loci_client.requests import Flow, given, read, write
from loci_client.types import HistoryEvent, JournalEntry, Memory

# Memories


def create_memory(
    text: str,
    *,
    kind: str = "fact",
    tier: str = "long_term",
    fields: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Flow[Memory]:
    """Store a memory. ``fields`` are others of the API, such as chat, character, namespace, metadata and tags."""
    body = {**(fields or {}), "text": text, "kind": kind, "tier": tier}
    return ask(write("POST", "memories/", body, key=key))


def list_memories(*, filter: Mapping[str, Any] | None = None, **filters: Any) -> Flow[list[Memory]]:
    """Return all memories, newest first, that meet the filters of the API, such as chat, character, kind and state.

    ``filter`` are conditions, such as ``{"tags": {"any": ["food"]}}``.
    """
    conditions = None if filter is None else json.dumps(filter)
    return pages(read("memories/", filter=conditions, limit=200, **filters))


def get_memory(memory_id: str) -> Flow[Memory | None]:
    """Return a memory, or None if there is none, or no longer."""
    try:
        return (yield from ask(read(path("memories", memory_id))))
    except NotFound:
        return None


def update_memory(memory_id: str, *, key: str | None = None, **changes: Any) -> Flow[Memory]:
    """Correct a memory: its text, kind, importance, pinned, hidden, metadata, tags or expires_at."""
    return ask(write("PATCH", path("memories", memory_id), changes, key=key))


def delete_memory(memory_id: str, *, key: str | None = None) -> Flow[None]:
    """Delete a memory. Nothing happens if there is none."""
    try:
        yield from ask(write("DELETE", path("memories", memory_id), key=key))
    except NotFound:
        return


def memory_history(memory_id: str) -> Flow[list[HistoryEvent]]:
    """Return what happened to a memory, and to those that it replaced or that replaced it, oldest first."""
    document = yield from ask(read(path("memories", memory_id, "history")))
    events: list[HistoryEvent] = document["results"]
    return events


# Journal


def list_journal(
    *,
    granularity: str | None = None,
    start: str | None = None,
    end: str | None = None,
    instance: str | None = None,
) -> Flow[list[JournalEntry]]:
    """Return the entries of a level, or of all, whose periods touch the days from ``start`` to ``end``."""
    days = {"from": start, "to": end}
    return pages(read("journal/", granularity=granularity, instance=instance, limit=200, **days))


def get_entry(entry_id: str) -> Flow[JournalEntry | None]:
    """Return an entry of the journal, or None."""
    try:
        return (yield from ask(read(path("journal", entry_id))))
    except NotFound:
        return None


def write_entry(
    text: str,
    *,
    granularity: str = "daily",
    period: str | None = None,
    instance: str | None = None,
    title: str | None = None,
    key: str | None = None,
) -> Flow[JournalEntry]:
    """Write a daily, whose bullets are merged with those that are there, or a significant entry."""
    body = given(granularity=granularity, period=period, instance=instance, title=title, text=text)
    return ask(write("POST", "journal/", body, key=key))


def update_entry(entry_id: str, *, key: str | None = None, **changes: Any) -> Flow[JournalEntry]:
    """Correct the title or the text of an entry."""
    return ask(write("PATCH", path("journal", entry_id), changes, key=key))


def delete_entry(entry_id: str, *, key: str | None = None) -> Flow[None]:
    """Delete an entry. Nothing happens if there is none."""
    try:
        yield from ask(write("DELETE", path("journal", entry_id), key=key))
    except NotFound:
        return


def consolidate_journal(
    *, granularity: str | None = None, period: str | None = None, key: str | None = None
) -> Flow[dict[str, Any]]:
    """Have weeks, months and years made of the dailies, in the background. Return which."""
    body = {"granularity": granularity, "period": period}
    return ask(write("POST", "journal/consolidate/", body, key=key))
