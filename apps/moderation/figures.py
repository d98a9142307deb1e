"""Figures of the dashboard: sums over all users, without anything that they wrote."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.db.models import Count, F, Sum
from django.db.models.functions import TruncDate
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import StorageUse, User
from apps.chats.models import Chat
from apps.common.jobs import Job
from apps.common.scoping import system_scope
from apps.extraction.models import ExtractionRun
from apps.llm.models import Usage
from apps.moderation.models import Case, Decision

DAYS = 30
WIDTH, HEIGHT = 400, 110  # of a chart's bars, in its own units
LEFT, BELOW, ABOVE = 44, 20, 8  # around them, for what is written at the axes
ACTIVE_DAYS = (1, 7, 30)
AGES = ((1, _("below 1 day")), (3, _("1 to 3 days")), (7, _("3 to 7 days")), (None, _("above 7 days")))
DECISIONS = (
    (Decision.DISMISS, _("Dismissed")),
    (Decision.HIDE, _("Hidden")),
    (Decision.SUSPEND, _("Suspended")),
    (Decision.BAN, _("Banned")),
    (Decision.REVERSE, _("Taken back")),
)
MEGABYTE = 1024 * 1024
MANY_BARS = 12  # of which not every one has room for its label


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value, and where it is drawn. ``is_labelled`` has the label written below it."""

    label: str
    value: int
    x: float
    y: float
    width: float
    height: float
    is_labelled: bool

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class Chart:
    """A bar chart. ``total`` is a text; ``top`` is the value at the upper line."""

    title: str
    total: str
    bars: list[Bar]
    top: int

    width: ClassVar[int] = LEFT + WIDTH
    height: ClassVar[int] = ABOVE + HEIGHT + BELOW
    left: ClassVar[int] = LEFT
    upper: ClassVar[int] = ABOVE
    lower: ClassVar[int] = ABOVE + HEIGHT


def charts(now: dt.datetime) -> list[Chart]:
    """Return the charts of the last DAYS days up to a moment."""
    since = (now - dt.timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [(since + dt.timedelta(days=number)).date() for number in range(DAYS)]
    with system_scope():
        runs = ExtractionRun.objects.filter(created_at__gte=since).values_list(day := TruncDate("created_at"))
        usage = Usage.objects.filter(day__gte=days[0]).values_list("day")
        users = User.objects.filter(date_joined__gte=since).values_list(TruncDate("date_joined"))
        cases = Case.objects.filter(created_at__gte=since).values_list(day)
        decided = Case.objects.filter(decided_at__gte=since).values_list(TruncDate("decided_at"))
        failed = runs.filter(state=Job.State.FAILED)
        return [
            _by_day(gettext("Reports and flags"), days, dict(cases.annotate(count=Count("pk")))),
            _by_day(gettext("Cases decided"), days, dict(decided.annotate(count=Count("pk")))),
            _waiting(now),
            _decisions(since),
            _by_day(gettext("Sign-ups"), days, dict(users.annotate(count=Count("pk")))),
            _active_users(now),
            _by_day(gettext("Extraction runs"), days, dict(runs.annotate(count=Count("pk")))),
            _by_day(gettext("Failed extraction runs"), days, dict(failed.annotate(count=Count("pk")))),
            _by_day(
                gettext("Tokens"), days, dict(usage.annotate(count=Sum(F("prompt_tokens") + F("completion_tokens"))))
            ),
            _storage(),
        ]


def _by_day(title: str, days: Iterable[dt.date], counts: Mapping[dt.date, int]) -> Chart:
    values = [(date_format(day, gettext("j M")), counts.get(day, 0)) for day in days]
    return _chart(
        gettext("%(title)s, %(count)s days") % {"title": title, "count": DAYS},
        values,
        f"{sum(value for label, value in values):,}",
    )


def _active_users(now: dt.datetime) -> Chart:
    """Return the users whose chats changed within a number of days."""
    counts = []
    for days in ACTIVE_DAYS:
        changed = Chat.objects.filter(last_active__gte=now - dt.timedelta(days=days))
        label = ngettext("%(count)s day", "%(count)s days", days) % {"count": days}
        counts.append((label, changed.values("owner").distinct().count()))
    return _chart(gettext("Active users"), counts, f"{counts[-1][1]:,}")


def _storage() -> Chart:
    """Return how many users need how much storage, as last counted."""
    limits = [(1, "1 MB"), (10, "10 MB"), (100, "100 MB"), (1000, "1 GB"), (None, gettext("more"))]
    counts, low = [], 0
    for limit, label in limits:
        rows = StorageUse.objects.filter(bytes__gte=low * MEGABYTE)
        counts.append((label, (rows.filter(bytes__lt=limit * MEGABYTE) if limit else rows).count()))
        low = limit or low
    total = StorageUse.objects.aggregate(sum=Sum("bytes"))["sum"] or 0
    return _chart(
        gettext("Users by storage"), counts, gettext("%(size)s MB in all") % {"size": f"{total // MEGABYTE:,}"}
    )


def _waiting(now: dt.datetime) -> Chart:
    """Return for how long the open cases have waited."""
    opened = Case.objects.filter(state=Case.State.OPEN)
    counts, since = [], now
    for days, label in AGES:
        until = now - dt.timedelta(days=days) if days else None
        rows = opened.filter(created_at__lte=since)
        counts.append((str(label), (rows.filter(created_at__gt=until) if until else rows).count()))
        since = until or since
    return _chart(gettext("Open cases, by how long they wait"), counts, f"{sum(count for label, count in counts):,}")


def _decisions(since: dt.datetime) -> Chart:
    """Return how cases were decided."""
    decided = Case.objects.filter(decided_at__gte=since).values_list("decision").annotate(count=Count("pk"))
    found = dict(decided)
    counts = [(str(label), found.get(value, 0)) for value, label in DECISIONS]
    title = gettext("%(title)s, %(count)s days") % {"title": gettext("Decisions"), "count": DAYS}
    return _chart(title, counts, f"{sum(count for label, count in counts):,}")


def _chart(title: str, values: list[tuple[str, int]], total: str) -> Chart:
    top = max((value for label, value in values), default=0) or 1
    step = WIDTH / max(len(values), 1)
    width = min(step * 0.75, 48)
    every = 1 if len(values) <= MANY_BARS else 7
    bars = []
    for number, (label, value) in enumerate(values):
        height = HEIGHT * value / top
        x = LEFT + number * step + (step - width) / 2
        bars.append(Bar(label, value, x, ABOVE + HEIGHT - height, width, height, number % every == 0))
    return Chart(title, total, bars, top)
