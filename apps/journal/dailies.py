"""Write dailies of what the runs of a day remembered, when the day is over where the owner lives."""

import datetime as dt
from collections import defaultdict
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common import jobs
from apps.journal.entries import merge_daily
from apps.journal.models import JournalProgress
from apps.journal.quoting import within
from apps.llm.queries import generation_connection
from apps.memories.journal.bullets import Bullet, append_bullets
from apps.memories.models import JournalEntry, Memory
from apps.memories.visibility import MemoryQuerySet

MAX_BULLET_LENGTH = 400  # characters of what is quoted of one chat


def write_dailies(owner: User, now: dt.datetime) -> int:
    """Write the dailies of all days that are over and not written yet. Return how many entries were written.

    Each day is a transaction of its own, so that work that was interrupted continues with the next day.
    """
    today = _midnight(now.astimezone(owner.zone).date(), owner.zone)
    written = 0
    while (entries := _write_next_day(owner, today)) is not None:
        written += entries
    return written


@transaction.atomic
def _write_next_day(owner: User, today: dt.datetime) -> int | None:
    """Write the dailies of the first day with memories that is not written. Return None if there is none."""
    jobs.lock_owner(owner)
    progress = JournalProgress.objects.for_owner(owner).first()
    memories = _memories(owner).filter(created_at__lt=today)
    if progress:
        memories = memories.filter(created_at__gte=progress.until)
    first = memories.order_by("created_at").first()
    if first is None:
        return None
    day = first.created_at.astimezone(owner.zone).date()
    until = _midnight(day + dt.timedelta(days=1), owner.zone)
    # Whoever has moved westwards lives through hours of a day whose entry is written.
    is_begun = progress is not None and _midnight(day, owner.zone) < progress.until
    texts = _texts(memories.filter(created_at__lt=until))
    for instance, text in texts.items():
        entry, _ = merge_daily(owner, period=day, instance=instance, text=text, extends=is_begun)
        _ask_model(entry)
    JournalProgress.objects.bulk_create(
        [JournalProgress(owner=owner, until=until)],
        update_conflicts=True,
        unique_fields=["owner"],
        update_fields=["until"],
    )
    return len(texts)


def _memories(owner: User) -> MemoryQuerySet:
    """Return what the owner's own chats remember and don't hide."""
    memories: MemoryQuerySet = Memory.objects.for_owner(owner).own()
    return memories.active().filter(hidden=False, chat__isnull=False, chat__deleted_at=None)


def _texts(memories: MemoryQuerySet) -> dict[str, str]:
    """Return the text of an entry for each instance, with one bullet for each chat."""
    lines: dict[str, dict[UUID, list[str]]] = defaultdict(lambda: defaultdict(list))
    for memory in memories.order_by("-importance", "pk"):
        if memory.chat_id:
            lines[memory.source_instance][memory.chat_id].append(" ".join(memory.text.split()))
    return {
        instance: append_bullets("", [_bullet(instance, chat, texts) for chat, texts in sorted(by_chat.items())])
        for instance, by_chat in lines.items()
    }


def _bullet(instance: str, chat_id: UUID, texts: list[str]) -> Bullet:
    return Bullet(" ".join(within(texts, MAX_BULLET_LENGTH)), str(chat_id), instance)


def _ask_model(entry: JournalEntry) -> None:
    """Have the owner's model, if one is connected, write the entry in its own words."""
    if generation_connection(entry.owner_id) and not entry.edited_by:
        rows = JournalEntry.objects.for_owner(entry.owner_id).filter(pk=entry.pk)
        rows.update(ask_model_at=timezone.now(), model_asked=0)


def _midnight(day: dt.date, zone: dt.tzinfo) -> dt.datetime:
    """Return when a day begins; in UTC, since times of one zone are compared without their offsets."""
    return dt.datetime.combine(day, dt.time(), zone).astimezone(dt.UTC)
