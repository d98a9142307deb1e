"""Parse the dates of chat files, in every format that SillyTavern and related programs write, and format dates."""

import datetime as dt
import re
from typing import Any

from apps.text.dates import MONTHS

_ABBREVIATIONS = {"sept": 9} | {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MAX_LENGTH = 120  # characters of a date; the patterns take the square of the number of spaces
_MAX_SECONDS = 1e11  # in the year 5138; as milliseconds, March 1973, before any chat

_NUMBER_PATTERN = re.compile(r"[0-9]+(?:\.[0-9]*)?")
# 2024-07-12@01h31m37s123ms and 2023-6-5 @14h 56m 50s 682ms
_HUMANIZED_PATTERN = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\s*@\s*"
    r"(?P<hour>\d{1,2})h\s*(?P<minute>\d{1,2})m\s*(?P<second>\d{1,2})s\s*(?:(?P<ms>\d{1,3})ms)?",
    re.ASCII,
)
# `\s` has the narrow space that browsers write before "PM".
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?(?:\s*(?P<half>[ap])\.?m\.?)?"
_ZONE = r"(?:\s*(?:UTC|GMT|Z))?(?:\s*(?P<offset>[+-][0-9]{2}:?[0-9]{2}))?(?:\s*\([^()]*\))?"
_WEEKDAY = r"(?:[^\W\d_]+\.?,?\s+)?"
_MONTH, _YEAR = r"(?P<month>[^\W\d_]+)\.?", r"(?P<year>[0-9]{4})"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.)?"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # June 19, 2023 2:20pm; Jun 19, 2023 14:20; Sat Jun 17 2023 14:20:00 GMT+0200 (Central European Summer Time)
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR},?\s+{_CLOCK}{_ZONE}",
        # Sat, 17 Jun 2023 14:20:00 GMT
        rf"{_WEEKDAY}{_DAY}\s+{_MONTH},?\s+{_YEAR},?\s+{_CLOCK}{_ZONE}",
        # 11:01 am on 17 December, 2022
        rf"{_CLOCK}\s+on\s+{_DAY}\s+{_MONTH},?\s+{_YEAR}",
        # In Chinese, Japanese and Korean browsers: 2023/6/17 14:20:00, 2023年6月17日 14:20, 2023. 6. 17. 오후 2:20
        rf"{_YEAR}(?:[/年]|\.\s?)(?P<number>[0-9]{{1,2}})(?:[/月]|\.\s?)(?P<day>[0-9]{{1,2}})(?:[日.])?"
        rf",?\s+(?P<word>[上下]午|午[前後]|오[전후])?\s*{_CLOCK}{_ZONE}",
        # In German, Russian and others: 17.6.2023, 14:20:00. With slashes, day and month may be either: not read.
        rf"(?P<day>[0-9]{{1,2}})\.\s?(?P<number>[0-9]{{1,2}})\.\s?{_YEAR},?\s+{_CLOCK}{_ZONE}",
    )
)
_AFTERNOON = ("p", "下午", "午後", "오후")


def parse_date(value: Any) -> dt.datetime | None:
    """Parse a JSON value from a chat file as a date. Return an aware datetime in UTC, or None if it is not a date.

    Numbers, also as text, are seconds since 1970 or thousandths, millionths or billionths of them, whichever is
    plausible. A date without an offset is read as UTC, since the file doesn't say in which time zone it was written.
    """
    try:
        if isinstance(value, str):
            text = value.strip()
            return _from_text(text) if len(text) <= _MAX_LENGTH else None
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
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            return _from_parts(match)
    moment = dt.datetime.fromisoformat(text.removesuffix(" UTC"))
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _from_number(number: float) -> dt.datetime | None:
    if not number > 0:
        return None
    if number < _MAX_SECONDS:
        return _EPOCH + dt.timedelta(seconds=number)
    if number < _MAX_SECONDS * 1e3:
        return _EPOCH + dt.timedelta(milliseconds=number)
    return _EPOCH + dt.timedelta(microseconds=number if number < _MAX_SECONDS * 1e6 else number // 1000)


def _from_humanized(match: re.Match[str]) -> dt.datetime:
    year, month, day, hour, minute, second = (
        int(match[part]) for part in ("year", "month", "day", "hour", "minute", "second")
    )
    microsecond = int(match["ms"] or 0) * 1000
    return dt.datetime(year, month, day, hour, minute, second, microsecond, dt.UTC)


def _from_parts(match: re.Match[str]) -> dt.datetime:
    """Return the date of a match of `_PATTERNS`. Raise ValueError if there is no such date."""
    parts = match.groupdict()
    month = int(parts["number"]) if parts.get("number") else _month_named(parts["month"])
    hour = int(parts["hour"])
    half = (parts["half"] or "").lower() or parts.get("word")
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("the hour is not between 1 and 12")
        hour = hour % 12 + (12 if half in _AFTERNOON else 0)
    zone = dt.datetime.strptime(parts["offset"], "%z").tzinfo if parts.get("offset") else dt.UTC
    second = int(parts["second"] or 0)
    moment = dt.datetime(int(parts["year"]), month, int(parts["day"]), hour, int(parts["minute"]), second, tzinfo=zone)
    return moment.astimezone(dt.UTC)


def _month_named(name: str) -> int:
    """Return the number of a month, 0 if it has no such name: in full, or abbreviated in English."""
    from apps.text.words import folded  # with `regex`, which every command would load else

    name = folded(name)
    return MONTHS.get(name) or _ABBREVIATIONS.get(name, 0)


def day_of(moment: dt.datetime, zone: dt.tzinfo) -> dt.date:
    """Return the day of a moment in a time zone; in UTC at the ends of the calendar, where the zone has none."""
    try:
        return moment.astimezone(zone).date()
    except OverflowError:
        return moment.date()
