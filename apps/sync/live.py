"""Publish changes to SSE clients with Postgres' NOTIFY, which reaches every server process after the commit."""

import json
from typing import Any
from uuid import UUID

from django.db import connection

from apps.chats.signals import ChatChanged

CHANNEL = "loci_live"
MEMORIES = "memories"  # for the streams of all chats, since a memory may be known in several
CHECK = "check"  # not an event for clients: their streams find out whether they are still allowed


def notify_chat_changed(event: ChatChanged, **kwargs: Any) -> None:
    """Receive ``chat_changed``: notify clients of the write when its transaction commits."""
    data = {"chat": str(event.chat_id), "rev": event.rev, "integrity": str(event.integrity), "kind": event.kind}
    notify(event.owner_id, "chat", data)


def notify_run_changed(job: Any, state: str, **kwargs: Any) -> None:
    """Receive ``job_changed`` of extraction runs: notify clients when its transaction commits."""
    notify(job.owner_id, "run", {"chat": str(job.chat_id), "run": str(job.pk), "state": state})


def notify_tombstones_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``tombstones_changed``: notify clients when its transaction commits."""
    notify(owner_id, MEMORIES, {})


def notify_chat_list_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``chat_list_changed``: notify clients when its transaction commits."""
    notify(owner_id, "chats", {})


def notify_token_revoked(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``token_revoked``: have the owner's streams check their tokens when its transaction commits."""
    notify(owner_id, CHECK, {})


def notify_settings_changed(owner_id: UUID, rev: int, integrity: UUID) -> None:
    """Notify clients of a change of settings when the current transaction commits."""
    notify(owner_id, "settings", {"rev": rev, "integrity": str(integrity)})


def notify(owner_id: UUID, event: str, data: dict[str, Any]) -> None:
    """Notify an owner's clients when the current transaction commits."""
    # Postgres refuses 8,000 bytes or more, which would fail the write: an event names rows, and clients fetch them.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload(owner_id, event, data)])


def payload(owner_id: UUID, event: str, data: dict[str, Any]) -> str:
    """Return the notification of an event."""
    return json.dumps({"owner": str(owner_id), "event": event, "data": data}, separators=(",", ":"))
