"""Let other apps keep their rows that go with deleted messages or swipes, so that undo brings them back.

Prompts register recalls, memories their sources, replies what a reply received meanwhile. Layers are not kept: a
message that comes back is read again.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.models import Chat
from apps.common.registry import Registry


@dataclass(frozen=True)
class RestorableRows:
    """Rows of an app that refer to messages or swipes.

    ``save`` is called with the locked chat and the ids of messages and swipes that are about to be deleted, those of
    the messages included. It returns JSON, from which ``restore`` brings the rows back once the messages are.
    """

    name: str
    save: Callable[[Chat, Collection[UUID], Collection[UUID]], Any]
    restore: Callable[[Chat, Any], None]


restorable_rows: Registry[RestorableRows] = Registry()


def saved_rows(chat: Chat, message_ids: Collection[UUID], swipe_ids: Collection[UUID]) -> dict[str, Any]:
    """Return what the apps keep, by the name under which they registered."""
    return {rows.name: rows.save(chat, message_ids, swipe_ids) for rows in restorable_rows}


def restore_rows(chat: Chat, saved: dict[str, Any]) -> None:
    """Bring back what ``saved_rows`` returned."""
    for rows in restorable_rows:
        if rows.name in saved:
            rows.restore(chat, saved[rows.name])
