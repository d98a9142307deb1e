"""Read the journal for its API and its calendar."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Chat
from apps.common.scoping import Owner
from apps.journal.calendar import title_of
from apps.journal.consolidation import sources_of
from apps.journal.entries import period_of
from apps.memories.journal.bullets import Bullet, has_bullets, parse_bullets
from apps.memories.journal.periods import CONSOLIDATED, Granularity, Period
from apps.memories.models import JournalEntry

MAX_LINES = 3  # of an entry of the level below

Entries = QuerySet[JournalEntry]


@dataclass(frozen=True)
class EntryLine:
    """A bullet of an entry, with its chat if that is one of the owner's, in the bin or not.

    ``is_gone``: the chat was deleted for good. Those of other instances are not known here.
    """

    text: str
    chat: Chat | None
    via: str
    is_gone: bool = False


@dataclass(frozen=True)
class ShownEntry:
    """An entry as a page shows it: ``lines`` and how many ``more`` it has, or its text if it has no bullets."""

    entry: JournalEntry
    title: str
    lines: list[EntryLine]
    more: int


@dataclass(frozen=True)
class JournalPage:
    """The entries of a period: its own, significant ones, and those of the level below."""

    own: list[ShownEntry]
    significant: list[ShownEntry]
    below: list[ShownEntry]


@dataclass(frozen=True)
class WeekDay:
    """A day of the week that the page of a day shows at a glance, with its entries."""

    date: dt.date
    is_shown: bool
    entries: list[ShownEntry]


def entries_between(entries: Entries, first: dt.date | None, last: dt.date | None) -> Entries:
    """Return the entries whose periods overlap the days from ``first`` to ``last``, where these are given."""
    bounds = {"ends__gte": first, "starts__lte": last}
    return entries.filter(**{name: day for name, day in bounds.items() if day})


def written_days(owner: Owner, first: dt.date, last: dt.date) -> set[dt.date]:
    """Return the days from ``first`` to ``last`` that have an entry of their own."""
    levels = (Granularity.DAILY.value, Granularity.SIGNIFICANT.value)
    entries = JournalEntry.objects.for_owner(owner).present().filter(granularity__in=levels)
    return set(entries.filter(starts__range=(first, last)).values_list("starts", flat=True))


def newest_day(owner: Owner) -> str:
    """Return the name of the newest day that has an entry, or an empty string."""
    days = JournalEntry.objects.for_owner(owner).present().filter(granularity=Granularity.DAILY)
    return str(days.order_by("-starts").values_list("period", flat=True).first() or "")


def journal_page(owner_id: UUID, period: Period) -> JournalPage:
    """Return the entries that the page of a period shows, the earliest first."""
    entries = JournalEntry.objects.for_owner(owner_id).present().defer("embedding", "lexemes")
    own = entries.of_period(period).order_by("instance")
    days = Q(starts__range=(period.first, period.last))
    significant = entries.filter(days, granularity=Granularity.SIGNIFICANT).order_by("starts", "pk")
    below = sources_of(owner_id, period) if period.granularity in CONSOLIDATED else entries.none()
    parts = [list(own), list(significant), list(below.defer("embedding", "lexemes").order_by("starts", "instance"))]
    chats = _chats(owner_id, (entry for part in parts for entry in part))
    limits = (None, None, MAX_LINES)
    return JournalPage(
        *([_shown(entry, chats, limit) for entry in part] for part, limit in zip(parts, limits, strict=True))
    )


def _shown(entry: JournalEntry, chats: Mapping[str, Chat], limit: int | None) -> ShownEntry:
    """Return an entry with at most ``limit`` of its lines."""
    bullets = parse_bullets(entry.text) if has_bullets(entry.text) else []
    lines = [_line(bullet, chats.get(bullet.chat)) for bullet in bullets]
    return ShownEntry(entry, title_of(period_of(entry)), lines[:limit], len(lines[limit:]) if limit else 0)


def _line(bullet: Bullet, chat: Chat | None) -> EntryLine:
    is_gone = chat is None and not bullet.via and _is_uuid(bullet.chat)
    return EntryLine(bullet.text, chat, bullet.via, is_gone)


def _chats(owner: Owner, entries: Iterable[JournalEntry]) -> dict[str, Chat]:
    """Return the owner's chats that entries name, those in the bin too, by id."""
    ids = {chat for entry in entries for chat in entry.chats if _is_uuid(chat)}
    managers = Chat.objects, Chat.in_bin
    rows = (each.for_owner(owner).filter(pk__in=ids).only("pk", "title", "owner_id", "deleted_at") for each in managers)
    return {str(chat.pk): chat for chats in rows for chat in chats}


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
