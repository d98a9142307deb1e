"""Snapshots made and restored as workers do it, and what archives hold."""

import json
from typing import Any

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.database.restriction import restricted_to
from apps.snapshots.archives import Archive
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.operations import create_restore, create_snapshot, take_chat_snapshot
from apps.snapshots.running import run_restore, run_snapshot


def made(owner: User, chat: Chat | None = None) -> Snapshot:
    """A snapshot of the account or the chat. Needs a transaction of its own."""
    if chat:
        return take_chat_snapshot(owner, chat)
    snapshot, _ = create_snapshot(owner)
    with restricted_to(None):  # as each task is
        claimed = jobs.claim(Snapshot, snapshot.pk)
        assert claimed is not None
        run_snapshot(claimed)
    snapshot.refresh_from_db()
    assert (snapshot.state, snapshot.error) == ("succeeded", "")
    return snapshot


def restored(snapshot: Snapshot) -> Restore:
    """A restore that has ended."""
    restore = create_restore(snapshot)
    with restricted_to(None):
        claimed = jobs.claim(Restore, restore.pk)
        assert claimed is not None
        run_restore(claimed)
    claimed.refresh_from_db()
    return claimed


def rows_of(snapshot: Snapshot, table: str) -> list[dict[str, Any]]:
    """The rows of a table in a snapshot."""
    with snapshot.file.open("rb") as file:
        return [json.loads(line) for line in Archive(file).lines(table)]


def latest_rows(owner: User, table: str) -> list[dict[str, Any]]:
    """The rows of a table in the owner's latest snapshot."""
    return rows_of(Snapshot.objects.for_owner(owner).latest("pk"), table)
