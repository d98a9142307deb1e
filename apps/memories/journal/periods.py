"""Periods of the journal: days, ISO weeks, months, years. A week belongs to the month of its Thursday. Pure functions.

Years are four digits long, as in ``datetime.date``: 0001 to 9999. The last week of 9999 ends with the calendar.
"""

import datetime as dt
import re
from calendar import monthrange
from dataclasses import dataclass
from enum import StrEnum

CONSOLIDATED_AT = dt.time(5)  # local time on the day that a period is consolidated

_FORMS = {
    "daily": re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII),
    "weekly": re.compile(r"(\d{4})-W(\d{2})", re.ASCII),
    "monthly": re.compile(r"(\d{4})-(\d{2})", re.ASCII),
    "yearly": re.compile(r"(\d{4})", re.ASCII),
}
_FORMS["significant"] = _FORMS["daily"]


class Granularity(StrEnum):
    """Level of a journal entry."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    SIGNIFICANT = "significant"


CONSOLIDATED = (Granularity.WEEKLY, Granularity.MONTHLY, Granularity.YEARLY)  # in the order in which they are made
WRITTEN = (Granularity.DAILY, Granularity.SIGNIFICANT)  # by a client or a person
SOURCE_OF = dict(zip(CONSOLIDATED, (Granularity.DAILY, *CONSOLIDATED), strict=False))


@dataclass(frozen=True)
class Period:
    """A period with its name, such as 2026-W47, and its first and last day."""

    granularity: Granularity
    name: str
    first: dt.date
    last: dt.date


def day(date: dt.date, granularity: Granularity = Granularity.DAILY) -> Period:
    """Return the period of a daily or a significant entry."""
    return Period(granularity, date.isoformat(), date, date)


def week_of(date: dt.date) -> Period:
    """Return the ISO week of a day."""
    year, week, weekday = date.isocalendar()
    monday = date - dt.timedelta(days=weekday - 1)
    sunday = monday + dt.timedelta(days=min(6, (dt.date.max - monday).days))
    return Period(Granularity.WEEKLY, f"{year:04}-W{week:02}", monday, sunday)


def month_of(date: dt.date) -> Period:
    """Return the calendar month of a day."""
    first, last = date.replace(day=1), date.replace(day=monthrange(date.year, date.month)[1])
    return Period(Granularity.MONTHLY, f"{date.year:04}-{date.month:02}", first, last)


def year_of(date: dt.date) -> Period:
    """Return the calendar year of a day."""
    return Period(Granularity.YEARLY, f"{date.year:04}", date.replace(month=1, day=1), date.replace(month=12, day=31))


def parent(period: Period) -> Period | None:
    """Return the period of the next level that this one belongs to; None for a year or a significant entry."""
    if period.granularity == Granularity.DAILY:
        return week_of(period.first)
    if period.granularity == Granularity.WEEKLY:
        return month_of(period.first + dt.timedelta(days=3))
    return year_of(period.first) if period.granularity == Granularity.MONTHLY else None


def ancestors(period: Period) -> list[Period]:
    """Return the periods of all levels above that a period belongs to, the lowest first."""
    above = parent(period)
    return [above, *ancestors(above)] if above else []


def parse_period(granularity: Granularity, name: str) -> Period:
    """Return the period with a name, such as 2026-W47. Raise ValueError if there is none."""
    match = _FORMS[granularity].fullmatch(name)
    if not match:
        raise ValueError(f"{name!r} is not the name of a {granularity} period.")
    numbers = [int(number) for number in match.groups()]
    if granularity == Granularity.WEEKLY:
        return week_of(dt.date.fromisocalendar(numbers[0], numbers[1], 1))
    if granularity == Granularity.MONTHLY:
        return month_of(dt.date(numbers[0], numbers[1], 1))
    if granularity == Granularity.YEARLY:
        return year_of(dt.date(numbers[0], 1, 1))
    return day(dt.date(*numbers), granularity)


def due_at(period: Period, zone: dt.tzinfo) -> dt.datetime:
    """Return when a period is consolidated: at 05:00 on the Sunday of a week, else on the day after the period."""
    if period.granularity == Granularity.WEEKLY or period.last == dt.date.max:
        return dt.datetime.combine(period.last, CONSOLIDATED_AT, zone)
    return dt.datetime.combine(period.last + dt.timedelta(days=1), CONSOLIDATED_AT, zone)
