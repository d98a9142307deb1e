"""Figures of the dashboard: sums over all users, without anything that they wrote."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, F, Sum
from django.db.models.functions import TruncDate

from apps.accounts.models import StorageUse, User
from apps.chats.models import Chat
from apps.common.jobs import Job
from apps.common.scoping import system_scope
from apps.extraction.models import ExtractionRun
from apps.llm.models import Usage
from apps.moderation.models import Case

DAYS = 30
HEIGHT, WIDTH, GAP = 100, 16, 4  # of a chart's bars, in its own units
ACTIVE_DAYS = (1, 7, 30)
MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value, and where it is drawn."""

    label: str
    value: int
    x: int
    y: float
    height: float


@dataclass(frozen=True)
class Chart:
    """A bar chart. ``total`` is a text."""

    title: str
    total: str
    bars: list[Bar]

    @property
    def width(self) -> int:
        return len(self.bars) * (WIDTH + GAP)


def charts(now: dt.datetime) -> list[Chart]:
    """Return the charts of the last DAYS days up to a moment."""
    since = (now - dt.timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [(since + dt.timedelta(days=number)).date() for number in range(DAYS)]
    with system_scope():
        runs = ExtractionRun.objects.filter(created_at__gte=since).values_list(day := TruncDate("created_at"))
        usage = Usage.objects.filter(day__gte=days[0]).values_list("day")
        users = User.objects.filter(date_joined__gte=since).values_list(TruncDate("date_joined"))
        cases = Case.objects.filter(created_at__gte=since).values_list(day)
        failed = runs.filter(state=Job.State.FAILED)
        return [
            _by_day("Sign-ups", days, dict(users.annotate(count=Count("pk")))),
            _active_users(now),
            _by_day("Extraction runs", days, dict(runs.annotate(count=Count("pk")))),
            _by_day("Failed extraction runs", days, dict(failed.annotate(count=Count("pk")))),
            _by_day("Tokens", days, dict(usage.annotate(count=Sum(F("prompt_tokens") + F("completion_tokens"))))),
            _by_day("Reports and flags", days, dict(cases.annotate(count=Count("pk")))),
            _storage(),
        ]


def _by_day(title: str, days: Iterable[dt.date], counts: Mapping[dt.date, int]) -> Chart:
    values = [(f"{day:%-d %b}", counts.get(day, 0)) for day in days]
    return _chart(f"{title}, {DAYS} days", values, f"{sum(value for _, value in values):,}")


def _active_users(now: dt.datetime) -> Chart:
    """Return the users whose chats changed within a number of days."""
    counts = []
    for days in ACTIVE_DAYS:
        changed = Chat.objects.filter(last_active__gte=now - dt.timedelta(days=days))
        counts.append((f"{days} days" if days > 1 else "1 day", changed.values("owner").distinct().count()))
    return _chart("Active users", counts, f"{counts[-1][1]:,}")


def _storage() -> Chart:
    """Return how many users need how much storage, as last counted."""
    limits = [(1, "1 MB"), (10, "10 MB"), (100, "100 MB"), (1000, "1 GB"), (None, "more")]
    counts, low = [], 0
    for limit, label in limits:
        rows = StorageUse.objects.filter(bytes__gte=low * MEGABYTE)
        counts.append((label, (rows.filter(bytes__lt=limit * MEGABYTE) if limit else rows).count()))
        low = limit or low
    total = StorageUse.objects.aggregate(sum=Sum("bytes"))["sum"] or 0
    return _chart("Users by storage", counts, f"{total // MEGABYTE:,} MB in all")


def _chart(title: str, values: list[tuple[str, int]], total: str) -> Chart:
    top = max((value for _, value in values), default=0) or 1
    bars = []
    for number, (label, value) in enumerate(values):
        height = HEIGHT * value / top
        bars.append(Bar(label, value, number * (WIDTH + GAP), HEIGHT - height, height))
    return Chart(title, total, bars)
