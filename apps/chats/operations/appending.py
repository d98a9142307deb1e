"""Adds messages at the end of a chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.fingerprints import fingerprint_of
from apps.chats.formats.parsed import ParsedMessage
from apps.chats.integrity import Guard, IntegrityConflict
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.operations.door import UNGUARDED, lock_chat, messages_left_of, record_change, write_after
from apps.chats.operations.storing import dated, store_messages
from apps.common import clock


@dataclass(frozen=True)
class Appended:
    chat: Chat
    messages: list[Message]
    deduplicated: int = 0


@transaction.atomic
def append_messages(owner: Any, chat_id: UUID, parsed: Sequence[ParsedMessage], guard: Guard = UNGUARDED) -> Appended:
    """Add messages at the end.

    Appends commute: without an integrity, or with ``rebase``, they go behind whatever came in the meantime.
    The retry of an append whose reply was lost stores nothing. Raises IntegrityConflict, Missing.
    """
    chat = lock_chat(owner, chat_id)
    fingerprint = fingerprint_of(ChatChange.Kind.APPEND, parsed)
    if guard.is_stale(chat):
        before = write_after(chat, guard, fingerprint)
        if before is not None:
            return Appended(chat, messages_left_of(chat, before), deduplicated=len(parsed))
        if not guard.rebase:
            raise IntegrityConflict.over(chat, guard)
    messages = [message for batch in store_messages(chat, map(dated, parsed)) for message in batch]
    chat.last_active = clock.now()
    record_change(
        chat, ChatChange.Kind.APPEND, messages=messages, before={}, fingerprint=fingerprint, forced=guard.force
    )
    return Appended(chat, messages)
