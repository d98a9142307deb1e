"""Let other apps keep their rows that go with deleted messages or swipes, so that undo brings them back."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.models import Chat
from apps.common.registry import Registry


@dataclass(frozen=True)
class Attachment:
    """Rows of an app that refer to messages or swipes.

    ``save`` is called with the locked chat and the ids of messages and swipes that are about to be deleted, those of
    the messages included. It returns JSON, from which ``restore`` brings the rows back once the messages are.
    """

    name: str
    save: Callable[[Chat, Collection[UUID], Collection[UUID]], Any]
    restore: Callable[[Chat, Any], None]


attachments: Registry[Attachment] = Registry()


def saved_attachments(chat: Chat, message_ids: Collection[UUID], swipe_ids: Collection[UUID]) -> dict[str, Any]:
    """Return what the apps keep, by the name of their attachment."""
    return {attachment.name: attachment.save(chat, message_ids, swipe_ids) for attachment in attachments}


def restore_attachments(chat: Chat, saved: dict[str, Any]) -> None:
    """Bring back what ``saved_attachments`` returned."""
    for attachment in attachments:
        if attachment.name in saved:
            attachment.restore(chat, saved[attachment.name])
