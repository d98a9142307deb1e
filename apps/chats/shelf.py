"""The list of chats as its owner sees it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.chats.activity import Activity, activities_of
from apps.chats.markup import plain_text
from apps.chats.models import Chat


@dataclass(frozen=True)
class Entry:
    """A chat with the beginning of its last message, and what goes on in it."""

    chat: Chat
    last_line: str
    activity: Activity | None


def shelf(owner: Any, words: str = "") -> Any:
    """The owner's chats, last active first; those that contain ``words``, where given."""
    chats = Chat.objects.for_owner(owner).select_related("character").with_last_text()
    return (chats.matching(words) if words else chats).order_by("-last_active", "-pk")


def entries_of(owner: Any, chats: Iterable[Chat]) -> list[Entry]:
    """Entries for chats that come from ``shelf``."""
    rows = list(chats)
    activities = activities_of(owner, [chat.pk for chat in rows])
    return [
        Entry(chat, plain_text(chat.last_text or ""), activities.get(chat.pk))  # type: ignore[attr-defined]
        for chat in rows
    ]
