"""Make weeks of dailies, months of weeks and years of months.

An entry is made when its period is due, and made again while it is stale or has a source that it was not made from.
What a person has edited is never overwritten, and what they deleted is not made again.
"""

import datetime as dt
from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import User
from apps.common import jobs
from apps.journal.entries import entry_of, mark_ancestors_stale, new_entry, period_of, set_content
from apps.journal.quoting import quote
from apps.llm.queries import generation_connection
from apps.memories.journal.bullets import Bullet, append_bullets, parse_bullets
from apps.memories.journal.periods import CONSOLIDATED, SOURCE_OF, Granularity, Period, ancestors, due_at
from apps.memories.models import JournalEntry
from apps.memories.models.journal import JournalQuerySet

# Characters of an entry without a model.
MAX_LENGTH = {Granularity.WEEKLY: 1500, Granularity.MONTHLY: 2500, Granularity.YEARLY: 4000}
THURSDAY = 3  # days after the first of a week; its month is that of the week


def periods_to_make(
    owner: User, now: dt.datetime, *, granularity: Granularity | None = None, period: Period | None = None
) -> list[Period]:
    """Return the periods whose entries are to be made: those that are due, or ``period`` with those below it.

    With ``granularity`` only those of that level. Lower levels come first, and in each the earliest.
    """
    pending: list[Period] = []
    for level in CONSOLIDATED:
        of_level = _pending(owner, level) | {above for each in pending for above in ancestors(each)[:1]}
        chosen = [each for each in of_level if each.granularity == level and _is_chosen(each, owner, now, period)]
        pending += sorted(chosen, key=lambda each: each.first)
    return [each for each in pending if granularity is None or each.granularity == granularity]


def consolidate_all(periods: Iterable[Period], owner: User) -> int:
    """Make the entries of periods, each in a transaction of its own. Return how many were written."""
    return sum(consolidate(owner.pk, period) for period in periods)


def restore_deleted(owner: User, period: Period) -> None:
    """Let the entry of a period, which a person deleted, be made again because they ask for it."""
    deleted = JournalEntry.objects.for_owner(owner).of_period(period).exclude(deleted_at=None)
    deleted.update(deleted_at=None, stale=True, edited_by="", updated_at=timezone.now())


@transaction.atomic
def consolidate(owner_id: UUID, period: Period, *, with_vector: bool = True) -> bool:
    """Make the entry of a period again if it is not up to date. Return whether its text was written.

    ``with_vector`` is as for ``set_content``.
    """
    jobs.lock_owner(owner_id)  # the hourly sweep and a person's request may make the same period
    entry = entry_of(owner_id, period)
    sources = sources_of(owner_id, period)
    rows = list(sources.defer("embedding", "lexemes").order_by("starts", "instance"))
    if not rows:
        return _delete_empty(entry)
    if entry and not entry.stale and all(row.part_of_id == entry.pk for row in rows):
        return False
    entry = entry or new_entry(owner_id, period)
    is_written = not entry.edited_by and entry.deleted_at is None
    if is_written:
        _write(entry, rows, with_vector)
    # Also where a person's text stays: a source that is part of nothing would make the period due for ever.
    sources.exclude(part_of=entry).update(part_of=entry)
    return is_written


def sources_of(owner_id: UUID, period: Period) -> JournalQuerySet:
    """Return the entries of the level below that belong to a week, month or year."""
    granularity = SOURCE_OF[period.granularity]
    shift = THURSDAY if granularity == Granularity.WEEKLY else 0
    # No date is before the first of year 1, as three days before a period there would be.
    first, last = (max(day.toordinal() - shift, 1) for day in (period.first, period.last))
    days = (dt.date.fromordinal(first), dt.date.fromordinal(last))
    entries: JournalQuerySet = JournalEntry.objects.for_owner(owner_id)
    return entries.present().filter(granularity=granularity, starts__range=days)


def bullets_of(sources: Iterable[JournalEntry]) -> list[Bullet]:
    """Return the bullets of entries, tagged with their instance, in an order that doesn't depend on their arrival."""
    return [
        Bullet(bullet.text, bullet.chat, bullet.via or source.instance)
        for source in sources
        for bullet in sorted(parse_bullets(source.text), key=str)
    ]


def _write(entry: JournalEntry, sources: list[JournalEntry], with_vector: bool) -> None:
    """Save an entry that quotes its sources, and have a connected model write it in its own words later."""
    length = MAX_LENGTH[Granularity(entry.granularity)]
    entry.chats = sorted({chat for source in sources for chat in source.chats})
    entry.stale = False
    entry.model_asked = 0
    entry.ask_model_at = timezone.now() if generation_connection(entry.owner_id) else None
    set_content(entry, append_bullets("", quote(bullets_of(sources), length)), with_vector=with_vector)
    if not entry._state.adding:
        entry.version = F("version") + 1
    entry.save()
    mark_ancestors_stale(entry)


def _delete_empty(entry: JournalEntry | None) -> bool:
    """Delete an entry whose sources are all gone, unless a person has written in it."""
    if entry is None or entry.edited_by or entry.deleted_at:
        return False
    mark_ancestors_stale(entry)
    entry.delete()
    return True


def _pending(owner: User, level: Granularity) -> set[Period]:
    """Return the periods of a level that have a source without an entry, or an entry that is stale."""
    entries = JournalEntry.objects.for_owner(owner).present()
    unlinked = entries.filter(granularity=SOURCE_OF[level], part_of=None).only("granularity", "period")
    stale = entries.filter(granularity=level, stale=True, edited_by="").only("granularity", "period")
    return {ancestors(period_of(entry))[0] for entry in unlinked} | {period_of(entry) for entry in stale}


def _is_chosen(each: Period, owner: User, now: dt.datetime, period: Period | None) -> bool:
    if period is not None:
        return period == each or period in ancestors(each)
    return due_at(each, owner.zone).astimezone(dt.UTC) <= now
