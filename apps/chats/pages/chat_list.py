"""Build the entries of a list of chats."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.chats.models import Chat
from apps.chats.pages.company import company_of
from apps.chats.pages.markup import plain_text
from apps.chats.pages.plugins import Activity, activities_of
from apps.common.scoping import Owner


@dataclass(frozen=True)
class ChatEntry:
    """A chat with who takes part, the beginning of its last message, and the progress of background work on it."""

    chat: Chat
    company: str
    last_line: str
    activity: Activity | None


def chat_entries(owner: Owner, chats: Iterable[Chat]) -> list[ChatEntry]:
    """Return entries for chats that come from ``queries.list_chats``."""
    rows = list(chats)
    activities = activities_of(owner, [chat.pk for chat in rows])
    companies = company_of(owner, rows)
    return [
        ChatEntry(
            chat,
            companies[chat.pk],
            plain_text(chat.last_text or ""),  # type: ignore[attr-defined]
            activities.get(chat.pk),
        )
        for chat in rows
    ]
