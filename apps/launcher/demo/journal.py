"""Write the journal of the demo's stories, by the days on which they were told."""

import datetime as dt
from collections import defaultdict

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.journal.dailies import MAX_BULLET_LENGTH
from apps.journal.entries import merge_daily
from apps.journal.quoting import within
from apps.memories.journal.bullets import Bullet
from apps.memories.models import JournalEntry


def write_journal(owner: User, chat: Chat) -> int:
    """Write dailies of what is remembered of a story, unless one has the story. Return the number of days."""
    if JournalEntry.objects.for_owner(owner).filter(text__contains=str(chat.pk)).exists():
        return 0
    days = _texts_by_day(owner, chat)
    for day, texts in days.items():
        bullet = Bullet(" ".join(within(texts, MAX_BULLET_LENGTH)), str(chat.pk))
        merge_daily(owner, period=day, instance="", text=str(bullet))
    return len(days)


def _texts_by_day(owner: User, chat: Chat) -> dict[dt.date, list[str]]:
    """Return the texts of memories by the day of the message that they begin with, the most important first."""
    days: dict[dt.date, list[str]] = defaultdict(list)
    memories = chat.memories.active().filter(hidden=False, valid_from__sent_at__isnull=False)
    for memory in memories.select_related("valid_from").order_by("-importance", "pk"):
        days[memory.valid_from.sent_at.astimezone(owner.zone).date()].append(" ".join(memory.text.split()))
    return days
