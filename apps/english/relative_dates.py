"""Add dates to words such as "yesterday" in English. Without database access."""

import datetime as dt
import re
from collections.abc import Callable

from apps.english.numbers import to_digits
from apps.english.predicates import predicates

_DAYS = {
    "today": 0, "tonight": 0, "earlier today": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "yesterday": -1, "last night": -1, "the day before yesterday": -2, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_STEPS = {"last": -1, "this": 0, "next": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month in which it begins
_VAGUE_COUNTS = {"a": 1, "an": 1, "a couple of": 2}
_UNITS = "minute|hour|day|week|month|year"
# Possessive and limited: of a long text without spaces each word would be read to its end, and back.
_NUMBER = r"a couple of|an?|(?!few\b|of\b)[\w-]{1,60}+"
# Not before "'s" (yesterday's paper), nor before a date in brackets or one that is named.
_RELATIVE = re.compile(
    r"(?<!before )(?<!after )\b(?:"
    rf"(?P<day>{'|'.join(sorted(_DAYS, key=len, reverse=True))})(?: (?:morning|afternoon|evening|night))?+"
    rf"|(?P<some>a few|some|several) (?P<some_unit>{_UNITS})s ago"
    rf"|(?P<ago>{_NUMBER}) (?P<ago_unit>{_UNITS})s? ago"
    rf"|in (?P<ahead>{_NUMBER}) (?P<ahead_unit>day|week|month|year)s?(?: time)?"
    r"(?=\W*$|[,.;!?]|\s+(?:I|we|he|she|they|my|our|his|her)\b)"
    rf"|(?<!the )(?P<step>last|this|next) (?P<span>weekend|week|month|year|{'|'.join(_SEASONS)}|{'|'.join(_WEEKDAYS)})"
    rf"|on (?P<weekday>{'|'.join(_WEEKDAYS)})"
    r"|(?:on|until|till|from|since) the (?P<number>[12]?\d|3[01])(?:st|nd|rd|th)(?! (?:floor|of|(?-i:[A-Z])))"
    r")\b(?!['’]| \(|,? (?:on |the )*\d{1,2}(?:st|nd|rd|th)?(?: of)? (?-i:[A-Z])|,? (?-i:[A-Z])\w+ \d)",
    re.IGNORECASE,
)
_MAX_AGO = 1000
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|gonna|must|have to|need to|see you"
    r"|(?:am|are|is|i['’]?m|\w+['’](?:re|s)) \w+in[g'’]?)\b|['’]ll\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|had|did|went|got|came|left)\b", re.IGNORECASE)


def with_dates(text: str, said_on: dt.date) -> str:
    """Return a statement with a date after each relative one: "yesterday" becomes "yesterday (4 March 2024)".

    ``said_on`` is the day on which it was made.
    """
    return _RELATIVE.sub(lambda match: _with_date(match, said_on), text)


def _with_date(match: re.Match[str], said_on: dt.date) -> str:
    try:
        date = _date_of(match, said_on)
    except (KeyError, OverflowError, ValueError):
        date = ""  # before the year 1; "laſt", which the pattern finds too; a number of thousands of digits
    return f"{match[0]} ({date})" if date else match[0]


def _date_of(match: re.Match[str], said_on: dt.date) -> str:
    """Return the date of a relative one in words, or an empty string if it is none."""
    if match["day"]:
        return _day(said_on + dt.timedelta(days=_DAYS[match["day"].lower()]))
    if match["some"]:
        return f"shortly before {_day(said_on)}" if match["some_unit"].lower() == "day" else ""
    if match["ago"]:
        return _counted(match["ago"], match["ago_unit"].lower(), said_on, -1)
    if match["ahead"]:
        return _counted(match["ahead"], match["ahead_unit"].lower(), said_on, 1)
    if match["number"]:
        return _numbered(int(match["number"]), said_on, _direction(match.string))
    if match["weekday"]:
        return _day(_weekday(match["weekday"].lower(), said_on, _direction(match.string) or 1))
    step, span = _STEPS[match["step"].lower()], match["span"].lower()
    if span in _WEEKDAYS:
        return _day(_stepped_weekday(span, said_on, step))
    return _SPANS[span](said_on, step) if span in _SPANS else _season(span, said_on, step)


def _counted(number: str, unit: str, said_on: dt.date, sign: int) -> str:
    """Return the date that is a number of units away; weeks are exact to the day, months and years are not."""
    digits = str(_VAGUE_COUNTS.get(number.lower(), "")) or to_digits(number.lower())
    if not digits.isdecimal() or int(digits) > _MAX_AGO:
        return ""
    count = sign * int(digits)
    if unit in ("minute", "hour"):
        return _day(said_on) if unit == "minute" else ""
    if unit in ("day", "week"):
        return _day(said_on + dt.timedelta(days=count * (7 if unit == "week" else 1)))
    return _month(said_on, count) if unit == "month" else _year(said_on, count)


def _week(said_on: dt.date, step: int) -> str:
    return f"the week of {_day(_monday(said_on, step))}"


def _weekend(said_on: dt.date, step: int) -> str:
    """Return the Saturday of a weekend; on Monday, "next weekend" is the one that comes."""
    saturday = _monday(said_on, min(step, 0)) + dt.timedelta(days=5)
    if step > 0 and said_on >= saturday:
        saturday += dt.timedelta(weeks=1)
    return f"the weekend of {_day(saturday)}"


def _month(said_on: dt.date, step: int) -> str:
    months = said_on.year * 12 + said_on.month - 1 + step
    if months < 12:
        raise OverflowError
    return f"{dt.date(months // 12, months % 12 + 1, 1):%B} {months // 12}"


def _year(said_on: dt.date, step: int) -> str:
    return str(said_on.year + step) if said_on.year + step > 0 else ""


_SPANS: dict[str, Callable[[dt.date, int], str]] = {
    "week": _week, "weekend": _weekend, "month": _month, "year": _year,
}  # fmt: skip


def _season(season: str, said_on: dt.date, step: int) -> str:
    """Return a season with the year in which it begins: the last one that is over, the next one to come."""
    start = _SEASONS[season]
    year = said_on.year
    if step < 0 and said_on.month < start + 3:
        year -= 1
    elif step > 0 and said_on.month >= start:
        year += 1
    return f"{season} {year}" if season != "winter" else f"winter {year}/{(year + 1) % 100:02}"


def _stepped_weekday(name: str, said_on: dt.date, step: int) -> dt.date:
    """Return the last such day that is over, that of this week, or that of the next."""
    if step < 0:
        return _weekday(name, said_on, -1)
    return _monday(said_on, step) + dt.timedelta(days=_WEEKDAYS.index(name))


def _weekday(name: str, said_on: dt.date, sign: int) -> dt.date:
    """Return the nearest such day before or after, but not, the day."""
    days = sign * (_WEEKDAYS.index(name) - said_on.weekday()) % 7 or 7
    return said_on + dt.timedelta(days=sign * days)


def _numbered(number: int, said_on: dt.date, direction: int) -> str:
    """Return the nearest day of that number before or after the day; "" without a direction."""
    days = (said_on + dt.timedelta(days=direction * distance) for distance in range(1, 63)) if direction else ()
    return next((_day(date) for date in days if date.day == number), "")


def _direction(text: str) -> int:
    """Return -1 for a statement about what has happened, 1 about what will, 0 if its verbs don't tell."""
    if _FUTURE.search(text):
        return 1
    return -1 if _PAST.search(text) or any(one.is_past or one.is_perfect for one in predicates(text)) else 0


def _monday(said_on: dt.date, weeks: int) -> dt.date:
    return said_on - dt.timedelta(days=said_on.weekday()) + dt.timedelta(weeks=weeks)


def _day(date: dt.date) -> str:
    return f"{date.day} {date:%B} {date.year}"
