"""Periods that a query names, such as "spring 2026" or "in May", as lexemes of their days. Without database access."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from apps.text.dates import MONTHS, NAMED, dates_in, exists, in_figures, without_dates

MAX_TIMES = 5  # of a question
MAX_DAYS = 366  # of a period; the rest of a longer one is not looked for

# All patterns are of folded texts. Seasons begin in the month that stands with them.
_SEASONS = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "fruhling": 3, "fruhjahr": 3, "sommer": 6,
    "herbst": 9, "春": 3, "夏": 6, "秋": 9, "冬": 12,
}  # fmt: skip
_LATIN_SEASONS = "|".join(name for name in _SEASONS if name.isascii())
_BETWEEN = re.compile(r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))? – (\d{4})-(\d\d)(?:-(\d\d))?(?!\d)")
_WEEK = re.compile(r"(week|weekend) of (\d{1,2}) (\w+) (\d{4})(?!\d)")
_SEASON = re.compile(rf"(?<!\w)({_LATIN_SEASONS})\s+(?:of\s+)?(\d{{4}})(?:/\d\d)?(?!\d)")
_CHINESE_SEASON = re.compile(r"(?<!\d)(?P<year>\d{4})\)?年?的?(?P<season>[春夏秋冬])")
_MONTH = re.compile(r"(?<![\d-])(\d{4})(?:-|年)(\d{1,2})(?![\d-])月?")
_YEAR = re.compile(r"(?<![\d.,/@#:$€-])((?:19|20)\d\d)(?![\d/:%-]|[.,]\d)")
# "may" and "march" are verbs too.
_BARE_MONTH = re.compile(
    rf"(?<!\w)(?:in|during|since|last|this|early|late|im|seit|letzten|en|em|в)\s+({'|'.join(MONTHS)})(?!\w)"
)
_CHINESE_MONTH = re.compile(r"(?<!\d)(\d{1,2})月")

Period = tuple[dt.date, dt.date]


def period_lexemes(text: str) -> Iterator[str]:
    """Yield the lexemes of the times that a folded text names: of each day of a period, or a day or month of any year.

    A text that has one of them is of that time, or speaks of it: a message has those of its own day. Of a list of times
    the first MAX_TIMES are read.
    """
    return chain.from_iterable(islice(filter(None, _times_in(in_figures(text))), MAX_TIMES))


def _times_in(text: str) -> Iterator[Iterable[str]]:
    """Yield the lexemes of each time."""
    for pattern, read in _READERS:
        yield from (_lexemes_of(read, match) for match in pattern.finditer(text))
        text = pattern.sub(" ", text)  # so that the year of "spring 2026" is not also read as such
    for year, month, day in dates_in(text):
        yield [f"@{year}-{month:02}-{day:02}" if year else f"@{month:02}-{day:02}"]
    text = without_dates(text)
    for before, name, after, year in NAMED.findall(text):
        if not year and exists(0, MONTHS[name], int(before or after or 0)):
            yield [f"@{MONTHS[name]:02}-{int(before or after):02}"]
    yield from ([f"@{MONTHS[name]:02}"] for name in _BARE_MONTH.findall(NAMED.sub(_without_day, text)))
    for pattern, read in _LAST_READERS:
        yield from (_lexemes_of(read, match) for match in pattern.finditer(text))
        text = pattern.sub(" ", text)
    yield from ([f"@{int(month):02}"] for month in _CHINESE_MONTH.findall(text))


def _without_day(match: re.Match[str]) -> str:
    """Return the name of a month of any year, of which no day is named, and nothing of another one."""
    return " " if match[1] or match[3] or match[4] else match[0]


def _lexemes_of(read: Callable[[re.Match[str]], Period], match: re.Match[str]) -> list[str]:
    try:
        first, last = read(match)
        return list(lexemes_between(first, last))
    except (ValueError, KeyError, OverflowError):  # a 30th of February, or a word that is no month
        return []


def lexemes_between(first: dt.date, last: dt.date) -> Iterator[str]:
    """Yield the lexemes of the first MAX_DAYS days from one to another, and of the months that they fill."""
    days = _days_between(first, last)
    yield from (f"@{day}" for day in days)
    yield from (f"@{day:%Y-%m}" for day in days if day.day == 1 and _end_of_month(day.year, day.month) in days)


def day_lexemes(first: dt.date, last: dt.date) -> Iterator[str]:
    """Yield the lexemes of the days from one to another, also as days and months of any year."""
    for day in _days_between(first, last):
        yield from (f"@{day}", f"@{day:%m-%d}", f"@{day:%m}")


def _days_between(first: dt.date, last: dt.date) -> list[dt.date]:
    return [first + dt.timedelta(days=number) for number in range(min((last - first).days + 1, MAX_DAYS))]


def _between(match: re.Match[str]) -> Period:
    year, month, day, last_year, last_month, last_day = (int(each or 0) for each in match.groups())
    last = dt.date(last_year, last_month, last_day) if last_day else _end_of_month(last_year, last_month)
    return dt.date(year, month, day or 1), last


def _week(match: re.Match[str]) -> Period:
    first = dt.date(int(match[4]), MONTHS[match[3]], int(match[2]))
    return first, first + dt.timedelta(days=6 if match[1] == "week" else 1)


def _season(year: str, name: str) -> Period:
    first = dt.date(int(year), _SEASONS[name], 1)
    month = first.month + 2
    return first, _end_of_month(first.year + (month > 12), (month - 1) % 12 + 1)


def _named(match: re.Match[str]) -> Period:
    before, name, after, year = match.groups()
    day, month = int(before or after or 0), MONTHS[name]
    if day:
        return (dt.date(int(year), month, day),) * 2
    return dt.date(int(year), month, 1), _end_of_month(int(year), month)


def _month(match: re.Match[str]) -> Period:
    year, month = int(match[1]), int(match[2])
    return dt.date(year, month, 1), _end_of_month(year, month)


def _end_of_month(year: int, month: int) -> dt.date:
    return dt.date(year + month // 12, month % 12 + 1, 1) - dt.timedelta(days=1)


_NAMED_WITH_YEAR = re.compile(NAMED.pattern.removesuffix("?"))
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Period]], ...] = (
    (_BETWEEN, _between),
    (_WEEK, _week),
    (_SEASON, lambda match: _season(match[2], match[1])),
    (_CHINESE_SEASON, lambda match: _season(match[1], match[2])),
    (_NAMED_WITH_YEAR, _named),
)
_LAST_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Period]], ...] = (
    (_MONTH, _month),
    (_YEAR, lambda match: (dt.date(int(match[1]), 1, 1), dt.date(int(match[1]), 12, 31))),
)
