"""Dates as lexemes that are the same however a date is written: 15.03.2026, 3/15, 15. März. Without database access.

A message's own date is indexed in figures and with the English name of its month.
"""

import datetime as dt
import re
from collections.abc import Iterator

_YEAR_FIRST = re.compile(r"(?<![\d.])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![\d])")
_YEAR_LAST = re.compile(r"(?<![\d.])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
_CHINESE = re.compile(r"(?:(\d{4})[年년]\s?)?(\d{1,2})[月월]\s?(\d{1,2})[日号號일]")
_SHORT = re.compile(r"(?<![\d./-])(\d{1,2})(/|\.)(\d{1,2})(?:\.(?!\d)|(?![\d./-]))")
_LEAP_YEAR = 2024
_MONTH_NAMES = """
    january/januar/janner/janvier/enero/gennaio/janeiro/januari/январь/января/январе
    february/februar/feber/fevrier/febrero/febbraio/fevereiro/februari/февраль/февраля/феврале
    march/marz/mars/marzo/maart/март/марта/марте
    april/avril/abril/aprile/апрель/апреля/апреле
    may/mai/mayo/maggio/maio/май/мая/мае
    june/juni/juin/junio/giugno/junho/июнь/июня/июне
    july/juli/juillet/julio/luglio/julho/июль/июля/июле
    august/aout/agosto/augustus/август/августа/августе
    september/septembre/septiembre/settembre/setembro/сентябрь/сентября/сентябре
    october/oktober/octobre/octubre/ottobre/outubro/октябрь/октября/октябре
    november/novembre/noviembre/novembro/ноябрь/ноября/ноябре
    december/dezember/decembre/diciembre/dicembre/dezembro/декабрь/декабря/декабре
"""
_MONTHS = {
    name: number for number, line in enumerate(_MONTH_NAMES.split(), 1) for name in line.split("/")
}  # folded, in ten languages
_ENGLISH = {line.split("/")[0] for line in _MONTH_NAMES.split()}
_NAMED = re.compile(
    rf"(?:(?<!\d)(\d{{1,2}})(?:\.|st|nd|rd|th|er|º)?\s+(?:of\s+|de\s+)?)?(?<!\w)({'|'.join(_MONTHS)})(?!\w)"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d))?"
)


def date_lexemes(text: str) -> Iterator[str]:
    """Yield lexemes of the dates in a folded text: of the day with and without its year, and of the month.

    Where month and day could be either, both are meant.
    """
    for year, month, day in _dates(text):
        yield from (f"@{month:02}", f"@{month:02}-{day:02}")
        if year:
            yield f"@{year}-{month:02}-{day:02}"
    for before, name, after in _NAMED.findall(text):
        month = _MONTHS[name]
        if name not in _ENGLISH:  # that name is found as a word
            yield f"@{month:02}"
        if _exists(0, month, int(before or after or 0)):
            yield f"@{month:02}-{int(before or after):02}"


def _dates(text: str) -> Iterator[tuple[int, int, int]]:
    found = [(int(y), int(m), int(d)) for y, m, d in _YEAR_FIRST.findall(text)]
    found += [(int(y or 0), int(m), int(d)) for y, m, d in _CHINESE.findall(text)]
    for first, mark, second, year in _YEAR_LAST.findall(text):
        found += _either(int(year) + (2000 if len(year) == 2 else 0), int(first), int(second), mark)
    for first, mark, second in _SHORT.findall(text):
        found += _either(0, int(first), int(second), mark)
    yield from dict.fromkeys(date for date in found if _exists(*date))


def _either(year: int, first: int, second: int, mark: str) -> list[tuple[int, int, int]]:
    """Return what two numbers may mean: with dots day and month, else also month and day."""
    return [(year, second, first)] + ([] if mark == "." else [(year, first, second)])


def _exists(year: int, month: int, day: int) -> bool:
    try:
        dt.date(year or _LEAP_YEAR, month, day)
    except ValueError:
        return False
    return True
