"""Word of writes for whoever has a stream open: sent by Postgres when the write is committed, to every process."""

import json
from typing import Any
from uuid import UUID

from django.db import connection

from apps.chats.events import ChatChanged

CHANNEL = "loci_live"


def announce(event: ChatChanged) -> None:
    """Say within the write's transaction that a chat changes."""
    data = {"chat": str(event.chat_id), "rev": event.rev, "integrity": str(event.integrity), "kind": event.kind}
    _notify(event.owner_id, "chat", data)


def announce_settings(owner_id: UUID, rev: int, integrity: UUID) -> None:
    """Say within the write's transaction that a user's settings change."""
    _notify(owner_id, "settings", {"rev": rev, "integrity": str(integrity)})


def _notify(owner_id: UUID, event: str, data: dict[str, Any]) -> None:
    payload = json.dumps({"owner": str(owner_id), "event": event, "data": data}, separators=(",", ":"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])
