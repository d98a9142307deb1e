"""Build the entries of a list of chats."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from apps.chats.models import Chat
from apps.chats.pages.company import company_of
from apps.chats.pages.markup import plain_text
from apps.chats.pages.plugins import Activity, activities_of
from apps.common.scoping import Owner


@dataclass(frozen=True)
class ChatEntry:
    """A chat with who takes part, the beginning of its last message, and the progress of background work on it.

    ``last_said`` is the moment of the last message if that was on another day than the last use, as in an import.
    """

    chat: Chat
    company: str
    last_line: str
    activity: Activity | None
    last_said: dt.datetime | None


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
            _last_said(chat),
        )
        for chat in rows
    ]


def _last_said(chat: Chat) -> dt.datetime | None:
    same_day = timezone.localdate(chat.last_active) == timezone.localdate(chat.last_used)
    return chat.last_active if chat.message_count and not same_day else None
