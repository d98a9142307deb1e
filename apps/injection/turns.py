"""The user turn that a prompt is made for, and the conversation before it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.models import Chat, Message

BATCH = 200


@dataclass(frozen=True)
class Turn:
    """What the user says at ``index`` of the chat. ``message`` is None while it has not been sent."""

    chat: Chat
    text: str
    index: int
    message: Message | None

    @property
    def hash(self) -> str:
        return hash_of(self.text)

    @property
    def owner_id(self) -> UUID:
        return self.chat.owner_id


def hash_of(text: str) -> str:
    """SHA-256 of a turn's text, to which its recall is bound."""
    return hashlib.sha256(text.encode()).hexdigest()


def turn_of(chat: Chat, message: Message) -> Turn:
    return Turn(chat, message.mes, message.index, message)


def find_turn(chat: Chat, text: str | None) -> Turn:
    """The turn about to be sent, which may stand at the end of the chat already; without a text the last user turn."""
    messages = visible_messages(chat).order_by("-index")
    last = messages.filter(is_user=True).first() if text is None else messages.first()
    if last is not None and last.is_user and text in (None, last.mes):
        return turn_of(chat, last)
    return Turn(chat, text or "", chat.message_count, None)


def visible_messages(chat: Chat) -> Any:
    """The chat's messages that may go into a prompt, with their swipes."""
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat, is_system=False).with_swipes()


def newest_first(chat: Chat) -> Iterator[Message]:
    """The visible messages from the end of the chat backwards, read a batch at a time."""
    end = chat.message_count
    while end > 0:
        batch = visible_messages(chat).filter(index__lt=end, index__gte=end - BATCH).order_by("-index")
        yield from batch
        end -= BATCH
