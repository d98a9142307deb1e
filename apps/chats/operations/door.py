"""The door through which every write to a chat goes: the lock at its beginning, the line in the log at its end."""

import uuid
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from apps.chats.events import ChatChanged, announce
from apps.chats.integrity import Guard
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.queries import rev_of
from apps.common.problems import Missing

UNGUARDED = Guard()


def lock_chat(owner: Any, chat_id: UUID) -> Chat:
    """The chat with its row locked until the transaction ends. Raises Missing."""
    chat = Chat.objects.for_owner(owner).select_for_update().filter(pk=chat_id).first()
    if chat is None:
        raise Missing("There is no such chat.")
    return chat


def record_change(
    chat: Chat,
    kind: str,
    *,
    messages: Sequence[Message] = (),
    deleted_ids: Sequence[UUID] = (),
    **fields: Any,
) -> ChatChange:
    """Close a write to a locked chat: new rev and integrity, a line in the log, and word on commit.

    ``fields`` are further ones of the line: metadata, metadata_replaced, before, reordered, fingerprint, forced.
    """
    chat.rev += 1
    chat.integrity = uuid.uuid4()
    chat.save(update_fields=["rev", "integrity", "message_count", "last_active", "updated_at"])
    ids = [message.pk for message in messages]
    change = ChatChange.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        rev=chat.rev,
        integrity=chat.integrity,
        kind=kind,
        message_ids=ids,
        deleted_ids=list(deleted_ids),
        **fields,
    )
    announce(
        ChatChanged(
            owner_id=chat.owner_id,
            chat_id=chat.pk,
            kind=kind,
            rev=chat.rev,
            integrity=chat.integrity,
            message_ids=ids,
            deleted_ids=list(deleted_ids),
        )
    )
    return change


def write_after(chat: Chat, guard: Guard, fingerprint: str) -> ChatChange | None:
    """The write that this one repeats: the one that followed the state in ``guard``, with the same content.

    Its reply was lost on the way, so the client sends it again. With a key of its own it is another write that
    happens to say the same.
    """
    known = None if guard.integrity is None or guard.keyed else rev_of(chat, guard.integrity)
    if known is None:
        return None
    return chat.changes.filter(rev=known + 1, fingerprint=fingerprint).first()


def messages_left_of(chat: Chat, change: ChatChange) -> list[Message]:
    """The messages that ``change`` added or changed, in their order, without those that are gone since."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=change.message_ids)
    return list(messages.order_by("index"))
