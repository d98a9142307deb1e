"""Build the entries of a list of chats."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.chats.models import Chat
from apps.chats.pages.markup import plain_text
from apps.chats.pages.plugins import Activity, activities_of
from apps.common.scoping import Owner


@dataclass(frozen=True)
class ChatEntry:
    """A chat with the beginning of its last message, and the progress of background work on it."""

    chat: Chat
    last_line: str
    activity: Activity | None


def chat_entries(owner: Owner, chats: Iterable[Chat]) -> list[ChatEntry]:
    """Return entries for chats that come from ``queries.list_chats``."""
    rows = list(chats)
    activities = activities_of(owner, [chat.pk for chat in rows])
    return [
        ChatEntry(chat, plain_text(chat.last_text or ""), activities.get(chat.pk))  # type: ignore[attr-defined]
        for chat in rows
    ]
