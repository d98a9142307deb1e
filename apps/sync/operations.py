"""Writes of the wire protocol: those of ``chats``, and a snapshot before one that is forced."""

import gzip
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from apps.chats import operations as chats
from apps.chats.exports import export_jsonl
from apps.chats.formats.parsed import ParsedMessage
from apps.chats.integrity import Guard
from apps.chats.models import Chat
from apps.chats.patches import Patch
from apps.common.document_patches import DocumentPatch
from apps.sync.models import ChatSnapshot

T = TypeVar("T")


def append(owner: Any, chat_id: UUID, messages: Sequence[ParsedMessage], guard: Guard) -> chats.Appended:
    """As ``chats.operations.append_messages``, after a snapshot if it is forced."""
    return _after_snapshot(owner, chat_id, guard, lambda: chats.append_messages(owner, chat_id, messages, guard))


def patch(owner: Any, chat_id: UUID, patches: Sequence[Patch], guard: Guard) -> chats.Patched:
    """As ``chats.operations.patch_messages``, after a snapshot if it is forced."""
    return _after_snapshot(owner, chat_id, guard, lambda: chats.patch_messages(owner, chat_id, patches, guard))


def patch_metadata(owner: Any, chat_id: UUID, patch: DocumentPatch, guard: Guard) -> chats.MetadataPatched:
    """As ``chats.operations.patch_metadata``, after a snapshot if it is forced."""
    return _after_snapshot(owner, chat_id, guard, lambda: chats.patch_metadata(owner, chat_id, patch, guard))


def undo(owner: Any, chat_id: UUID, guard: Guard) -> chats.Undone:
    """As ``chats.operations.undo_last_change``, after a snapshot if it is forced."""
    return _after_snapshot(owner, chat_id, guard, lambda: chats.undo_last_change(owner, chat_id, guard))


def _after_snapshot(owner: Any, chat_id: UUID, guard: Guard, write: Callable[[], T]) -> T:
    """What ``write`` returns; if it is forced, a snapshot is stored with it."""
    if not guard.force:
        return write()
    with transaction.atomic():
        take_snapshot(chats.lock_chat(owner, chat_id), reason="before a forced write")
        return write()


def take_snapshot(chat: Chat, *, reason: str) -> ChatSnapshot:
    """The locked chat as it is now."""
    content = gzip.compress(b"".join(export_jsonl(chat)), mtime=0)
    return ChatSnapshot.objects.create(owner_id=chat.owner_id, chat=chat, rev=chat.rev, reason=reason, content=content)
