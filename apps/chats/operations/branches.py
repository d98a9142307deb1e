"""Branches: a chat that begins as another one did, up to a message of it."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.copying import parsed_message, windows_of
from apps.chats.formats.layout import forget_layout
from apps.chats.formats.parsed import ParsedMessage
from apps.chats.models import Chat, ChatChange, Participant
from apps.chats.operations.door import lock_chat, record_change
from apps.chats.operations.storing import store_messages
from apps.common.problems import Invalid

MAX_TITLE = 200


@transaction.atomic
def branch_chat(owner: Any, chat_id: UUID, at: int, *, title: str = "", is_checkpoint: bool = False) -> Chat:
    """A new chat with the messages of another one up to the index ``at``, its metadata and its participants.

    Raises Missing, and Invalid where the chat has no such message.
    """
    parent = lock_chat(owner, chat_id)
    if at >= parent.message_count:
        raise Invalid.at("/at", f"The chat has {parent.message_count} messages.")
    chat = Chat.objects.create(
        owner_id=parent.owner_id,
        title=title or _title(parent, is_checkpoint),
        character_id=parent.character_id,
        user_name=parent.user_name,
        # SillyTavern's name for where a chat branched off.
        metadata=parent.metadata | {"main_chat": parent.title},
        header_layout=forget_layout(parent.header_layout, ["chat_metadata"]),
        is_group=parent.is_group,
        parent=parent,
        parent_index=at,
        is_checkpoint=is_checkpoint,
    )
    _copy_participants(parent, chat)
    for _ in store_messages(chat, _messages(parent, at + 1)):
        pass
    record_change(chat, ChatChange.Kind.BRANCH)
    return chat


def _title(parent: Chat, is_checkpoint: bool) -> str:
    number = parent.branches.filter(is_checkpoint=is_checkpoint).count() + 1
    suffix = f" - {'Checkpoint' if is_checkpoint else 'Branch'} #{number}"
    return parent.title[: MAX_TITLE - len(suffix)] + suffix


def _copy_participants(parent: Chat, chat: Chat) -> None:
    Participant.objects.bulk_create(
        Participant(
            owner_id=chat.owner_id,
            chat=chat,
            character_id=one.character_id,
            name=one.name,
            position=one.position,
            muted=one.muted,
        )
        for one in parent.participants.all()
    )


def _messages(chat: Chat, count: int) -> Iterator[ParsedMessage]:
    return (parsed_message(message) for window in windows_of(chat, count) for message in window)
