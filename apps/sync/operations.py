"""Store snapshots of chats."""

import gzip
from typing import Any

from apps.chats.models import Chat
from apps.chats.transfer.exports import export_jsonl
from apps.sync.models import ChatSnapshot


def take_snapshot(chat: Chat, *, reason: str) -> ChatSnapshot:
    """Store the current state of a locked chat."""
    content = gzip.compress(b"".join(export_jsonl(chat)), mtime=0)
    return ChatSnapshot.objects.create(owner_id=chat.owner_id, chat=chat, rev=chat.rev, reason=reason, content=content)


def snapshot_before_forced_write(chat: Chat, **kwargs: Any) -> None:
    """Receive ``before_forced_write``: store what the write may overwrite."""
    take_snapshot(chat, reason="before a forced write")
