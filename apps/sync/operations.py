"""Store snapshots of chats."""

import gzip
from typing import Any

from apps.chats.models import Chat
from apps.chats.transfer.exports import export_jsonl
from apps.sync.models import ChatSnapshot


def snapshot_before_forced_write(chat: Chat, **kwargs: Any) -> None:
    """Receive ``before_forced_write``: store the current state of the locked chat, which the write may overwrite."""
    # Without a modification time, equal states have equal content.
    content = gzip.compress(b"".join(export_jsonl(chat)), mtime=0)
    ChatSnapshot.objects.create(
        owner_id=chat.owner_id, chat=chat, rev=chat.rev, reason="before a forced write", content=content
    )
