"""Add dates to words such as "yesterday". Without database access."""

import datetime as dt
import re

from apps.english.numbers import to_digits

_DAYS = {"today": 0, "tonight": 0, "yesterday": -1, "last night": -1, "tomorrow": 1}
_SPANS = {"last": -1, "next": 1}
# Not before "'s" (yesterday's paper), nor before a date in brackets.
_RELATIVE = re.compile(
    r"(?<!before )(?<!after )\b(?:"
    r"(?P<day>today|tonight|yesterday|last night|tomorrow)(?: (?:morning|afternoon|evening|night))?"
    r"|(?P<count>[\w-]+) days? ago"
    r"|(?P<span>last|next) (?P<unit>week|month|year)"
    r")\b(?!['’]| \()",
    re.IGNORECASE,
)
_MAX_DAYS_AGO = 1000


def with_dates(text: str, said_on: dt.date) -> str:
    """Return a statement with a date after each relative one: "yesterday" becomes "yesterday (4 March 2024)".

    ``said_on`` is the day on which it was made. A statement that names a year already is returned unchanged.
    """
    if re.search(r"\b(?:19|20)\d\d\b", text):
        return text
    return _RELATIVE.sub(lambda match: _with_date(match, said_on), text)


def _with_date(match: re.Match[str], said_on: dt.date) -> str:
    date = _date_of(match, said_on)
    return f"{match[0]} ({date})" if date else match[0]


def _date_of(match: re.Match[str], said_on: dt.date) -> str:
    """Return the date of a relative one in words, or an empty string if it is none."""
    if match["day"]:
        return _day(said_on + dt.timedelta(days=_DAYS[match["day"].lower()]))
    if match["count"]:
        count = to_digits(match["count"].lower())
        is_count = count.isdecimal() and int(count) <= _MAX_DAYS_AGO
        return _day(said_on - dt.timedelta(days=int(count))) if is_count else ""
    step = _SPANS[match["span"].lower()]
    if match["unit"].lower() == "week":
        monday = said_on - dt.timedelta(days=said_on.weekday()) + dt.timedelta(weeks=step)
        return f"the week of {_day(monday)}"
    if match["unit"].lower() == "year":
        return str(said_on.year + step)
    month = said_on.replace(day=15) + dt.timedelta(days=30 * step)
    return f"{month:%B %Y}"


def _day(date: dt.date) -> str:
    return f"{date.day} {date:%B %Y}"
