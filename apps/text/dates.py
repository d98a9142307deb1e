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
MONTHS = {
    name: number for number, line in enumerate(_MONTH_NAMES.split(), 1) for name in line.split("/")
}  # folded, in ten languages
_ENGLISH = {line.split("/")[0] for line in _MONTH_NAMES.split()}
NAMED = re.compile(
    rf"(?:(?<!\d)(\d{{1,2}})(?:\.|st|nd|rd|th|er|º)?\s+(?:of\s+|de\s+)?)?(?<!\w)({'|'.join(MONTHS)})(?!\w)"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(?:de\s+)?(\d{4})(?!\d))?"
)

# Days in words, folded: "the third of May", "am dritten Mai", 五月三日.
_ONES = "first second third fourth fifth sixth seventh eighth ninth".split()
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()
_GERMAN = "ein zwei drei vier funf sechs sieben acht neun".split()
_GERMAN_ONES = "erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft".split()
_ORDINALS = {
    **{word: number for number, word in enumerate([*_ONES, *_TEENS, "twentieth"], 1)},
    **{f"twenty-{word}": number for number, word in enumerate(_ONES, 21)},
    "thirtieth": 30,
    "thirty-first": 31,
    **{word: number for number, word in enumerate(_GERMAN_ONES, 1)},
    **{
        f"{word}zehnt": number
        for number, word in enumerate(("drei", "vier", "funf", "sech", "sieb", "acht", "neun"), 13)
    },
    **{f"{word}undzwanzigst": number for number, word in enumerate(_GERMAN, 21)},
    "zwanzigst": 20,
    "dreissigst": 30,
    "einunddreissigst": 31,
}
_ORDINAL = re.compile(
    rf"(?<!\w)({'|'.join(sorted(_ORDINALS, key=len, reverse=True))})(?:e[nrs]?)?\s+(?:of\s+)?(?={'|'.join(MONTHS)})"
)
_CHINESE_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九十")}
_CHINESE_NUMERAL = re.compile(r"[一二三四五六七八九十]{1,3}(?=[月日号號])")


def date_lexemes(text: str) -> Iterator[str]:
    """Yield lexemes of the dates in a folded text: of the day with and without its year, and of the month.

    Where month and day could be either, both are meant.
    """
    text = in_figures(text)
    for year, month, day in dates_in(text):
        yield from (f"@{month:02}", f"@{month:02}-{day:02}")
        if year:
            yield f"@{year}-{month:02}-{day:02}"
    for before, name, after, year in NAMED.findall(text):
        month, day = MONTHS[name], int(before or after or 0)
        if name not in _ENGLISH:  # that name is found as a word
            yield f"@{month:02}"
        if exists(0, month, day):
            yield f"@{month:02}-{day:02}"
        if year and (not day or exists(int(year), month, day)):
            yield f"@{year}-{month:02}-{day:02}" if day else f"@{year}-{month:02}"


def in_figures(text: str) -> str:
    """Return a folded text with the days that stand in words before a month in figures, and Chinese months and days."""
    text = _ORDINAL.sub(lambda match: f"{_ORDINALS[match[1]]} ", text)
    return _CHINESE_NUMERAL.sub(lambda match: str(_chinese_number(match[0])), text)


def _chinese_number(numeral: str) -> int:
    tens, ten, ones = numeral.rpartition("十")
    return (_CHINESE_DIGITS.get(tens, 1) * 10 if ten else 0) + (_CHINESE_DIGITS.get(ones[-1:], 0))


def dates_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the year, which may be 0, month and day of the dates in figures in a folded text."""
    found = [(int(y), int(m), int(d)) for y, m, d in _YEAR_FIRST.findall(text)]
    found += [(int(y or 0), int(m), int(d)) for y, m, d in _CHINESE.findall(text)]
    for first, mark, second, year in _YEAR_LAST.findall(text):
        found += _either(int(year) + (2000 if len(year) == 2 else 0), int(first), int(second), mark)
    for first, mark, second in _SHORT.findall(text):
        found += _either(0, int(first), int(second), mark)
    yield from dict.fromkeys(date for date in found if exists(*date))


def without_dates(text: str) -> str:
    """Return a folded text without the dates of ``dates_in``."""
    for pattern in (_YEAR_FIRST, _CHINESE, _YEAR_LAST, _SHORT):
        text = pattern.sub(" ", text)
    return text


def _either(year: int, first: int, second: int, mark: str) -> list[tuple[int, int, int]]:
    """Return what two numbers may mean: with dots day and month, else also month and day."""
    return [(year, second, first)] + ([] if mark == "." else [(year, first, second)])


def exists(year: int, month: int, day: int) -> bool:
    """Return whether there is such a day, in the year 0 in any year."""
    try:
        dt.date(year or _LEAP_YEAR, month, day)
    except ValueError:
        return False
    return True
