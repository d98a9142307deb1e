"""Parse the dates of chat files, in every format that SillyTavern and related programs write, and format dates."""

import datetime as dt
import re
from typing import Any

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MAX_SECONDS = 1e11  # in the year 5138; as milliseconds, March 1973, before any chat

_NUMBER_PATTERN = re.compile(r"\d+(?:\.\d*)?", re.ASCII)
# 2024-07-12@01h31m37s123ms and 2023-6-5 @14h 56m 50s 682ms
_HUMANIZED_PATTERN = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\s*@\s*"
    r"(?P<hour>\d{1,2})h\s*(?P<minute>\d{1,2})m\s*(?P<second>\d{1,2})s\s*(?:(?P<ms>\d{1,3})ms)?",
    re.ASCII,
)
_CLOCK_PATTERN = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[ap]m)"
# June 19, 2023 2:20pm and Jun 19, 2023 14:20
_MONTH_FIRST_PATTERN = re.compile(
    rf"(?P<month>[a-z]+) (?P<day>\d{{1,2}}), (?P<year>\d{{4}}) {_CLOCK_PATTERN}?", re.ASCII | re.IGNORECASE
)
# 11:01 am on 17 December, 2022
_CLOCK_FIRST_PATTERN = re.compile(
    rf"{_CLOCK_PATTERN} on (?P<day>\d{{1,2}}) (?P<month>[a-z]+),? (?P<year>\d{{4}})", re.ASCII | re.IGNORECASE
)


def parse_date(value: Any) -> dt.datetime | None:
    """Parse a JSON value from a chat file as a date. Return an aware datetime in UTC, or None if it is not a date.

    Numbers, also as text, are seconds or milliseconds since 1970, whichever is plausible. A date without an offset is
    read as UTC, since the file doesn't say in which time zone it was written.
    """
    try:
        if isinstance(value, str):
            return _from_text(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _from_number(value)
    except (ValueError, OverflowError):
        pass
    return None


def timestamp(moment: dt.datetime | None) -> str | None:
    """Return an aware datetime in RFC 3339, in UTC; None for None."""
    return None if moment is None else moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def humanized_date(moment: dt.datetime) -> str:
    """Return an aware datetime in SillyTavern's format, in UTC: `2024-07-12@01h31m37s123ms`."""
    utc = moment.astimezone(dt.UTC)
    return f"{utc:%Y-%m-%d@%Hh%Mm%Ss}{utc.microsecond // 1000:03}ms"


def _from_text(text: str) -> dt.datetime | None:
    if _NUMBER_PATTERN.fullmatch(text):
        return _from_number(float(text))
    if match := _HUMANIZED_PATTERN.fullmatch(text):
        return _from_humanized(match)
    if match := _MONTH_FIRST_PATTERN.fullmatch(text) or _CLOCK_FIRST_PATTERN.fullmatch(text):
        return _from_named_month(match)
    moment = dt.datetime.fromisoformat(text)
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _from_number(number: float) -> dt.datetime | None:
    if not number > 0:
        return None
    return _EPOCH + (dt.timedelta(seconds=number) if number < _MAX_SECONDS else dt.timedelta(milliseconds=number))


def _from_humanized(match: re.Match[str]) -> dt.datetime:
    year, month, day, hour, minute, second = (
        int(match[part]) for part in ("year", "month", "day", "hour", "minute", "second")
    )
    microsecond = int(match["ms"] or 0) * 1000
    return dt.datetime(year, month, day, hour, minute, second, microsecond, dt.UTC)


def _from_named_month(match: re.Match[str]) -> dt.datetime:
    """Return the date with a month in words, which may be its first three letters, and a clock of 12 or 24 hours."""
    name, hour = match["month"].lower(), int(match["hour"])
    month = next((number for number, known in enumerate(_MONTHS, 1) if name in (known, known[:3])), 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("the hour is not between 1 and 12")
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    return dt.datetime(int(match["year"]), month, int(match["day"]), hour, int(match["minute"]), tzinfo=dt.UTC)


def day_of(moment: dt.datetime, zone: dt.tzinfo) -> dt.date:
    """Return the day of a moment in a time zone; in UTC at the ends of the calendar, where the zone has none."""
    try:
        return moment.astimezone(zone).date()
    except OverflowError:
        return moment.date()
