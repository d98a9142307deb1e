"""The calendar of the journal: which period a page shows, its neighbours, and the days and months around it.

Without database access.
"""

import datetime as dt
from calendar import Calendar
from collections.abc import Collection
from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.translation import gettext

from apps.memories.journal.periods import Granularity, Period, day, month_of, parse_period, week_of, year_of

LEVELS = (Granularity.YEARLY, Granularity.MONTHLY, Granularity.WEEKLY, Granularity.DAILY)
FIRST_YEAR, LAST_YEAR = 2, 9998  # weeks of the years before and after cross the ends of the calendar
_OF_DAY = {
    Granularity.YEARLY: year_of,
    Granularity.MONTHLY: month_of,
    Granularity.WEEKLY: week_of,
    Granularity.DAILY: day,
}


@dataclass(frozen=True)
class CalendarDay:
    """A day of the calendar. ``is_written``: it has an entry. ``is_shown``: it belongs to the period of the page."""

    date: dt.date
    is_written: bool
    is_shown: bool
    is_today: bool
    is_outside: bool


@dataclass(frozen=True)
class CalendarWeek:
    """A week of the calendar."""

    period: Period
    days: list[CalendarDay]
    is_shown: bool


def period_named(name: str, today: dt.date) -> Period | None:
    """Return the period with a name of any form, the month of ``today`` without a name; None if there is none."""
    if not name:
        return month_of(today)
    for level in LEVELS:
        try:
            period = parse_period(level, name)
        except ValueError:
            continue
        return period if period.first.year >= FIRST_YEAR and period.last.year <= LAST_YEAR else None
    return None


def at_each_level(period: Period, today: dt.date) -> list[Period]:
    """Return the year, month, week and day that links of a page lead to: those of today if it is in the period."""
    date = today if period.first <= today <= period.last else period.first
    if period.granularity == Granularity.WEEKLY and date == period.first:
        date += dt.timedelta(days=3)  # its Thursday, whose month and year are those of the week
    return [period if level == period.granularity else _OF_DAY[level](date) for level in LEVELS]


def neighbours(period: Period) -> tuple[Period, Period]:
    """Return the periods of the same level before and after this one."""
    make = _OF_DAY[period.granularity]
    return make(period.first - dt.timedelta(days=1)), make(period.last + dt.timedelta(days=1))


def around(month: Period) -> tuple[dt.date, dt.date]:
    """Return the first and the last day of the weeks that a month is in."""
    return week_of(month.first).first, week_of(month.last).last


def weeks_of(month: Period, shown: Period, written: Collection[dt.date], today: dt.date) -> list[CalendarWeek]:
    """Return the weeks of a month with all their days, also those of the months before and after."""
    rows = Calendar().monthdatescalendar(month.first.year, month.first.month)
    return [
        CalendarWeek(
            week_of(dates[0]),
            [
                CalendarDay(
                    date,
                    is_written=date in written,
                    is_shown=shown.granularity == Granularity.DAILY and date == shown.first,
                    is_today=date == today,
                    is_outside=month_of(date) != month,
                )
                for date in dates
            ],
            is_shown=week_of(dates[0]) == shown,
        )
        for dates in rows
    ]


def weekdays_of(week: CalendarWeek) -> list[tuple[str, str]]:
    """Return the names of the days of a week, each with two letters of it, or one where all begin alike."""
    names = [date_format(day.date, "D") for day in week.days]
    shorts = [name[:2] for name in names]
    if len(set(shorts)) < len(names):
        shorts = [name[-1:] for name in names]  # as in Chinese
    return [(date_format(day.date, "l"), short) for day, short in zip(week.days, shorts, strict=True)]


def months_of(year: Period, written: Collection[dt.date]) -> list[tuple[Period, bool]]:
    """Return the months of a year, each with whether any of its days has an entry."""
    months = [month_of(year.first.replace(month=number)) for number in range(1, 13)]
    return [(month, any(month.first <= date <= month.last for date in written)) for month in months]


def title_of(period: Period) -> str:
    """Return a period as a page names it."""
    if period.granularity == Granularity.YEARLY:
        return period.name
    if period.granularity == Granularity.MONTHLY:
        return date_format(period.first, "YEAR_MONTH_FORMAT")
    if period.granularity == Granularity.WEEKLY:
        return gettext("Week %(week)s, %(year)s") % {"week": int(period.name[-2:]), "year": period.name[:4]}
    return date_format(period.first, gettext("l, j F Y"))
