"""Add dates to words such as "yesterday", in the languages that are read without a model. Without database access."""

import datetime as dt
import re
from collections.abc import Mapping
from functools import cache

from apps.chats.dates import day_of
from apps.english.relative_dates import with_dates
from apps.text.detection import ENGLISH, likeliest_languages

# Days from the day on which it was said, by language.
_DAYS: Mapping[str, Mapping[str, int]] = {
    "de": {"vorgestern": -2, "gestern": -1, "heute": 0, "übermorgen": 2, "morgen früh": 1, "morgen abend": 1,
           "bis morgen": 1},
    "fr": {"avant-hier": -2, "hier": -1, "aujourd'hui": 0, "ce matin": 0, "ce soir": 0, "demain": 1,
           "après-demain": 2},
    "es": {"anteayer": -2, "ayer": -1, "anoche": -1, "hoy": 0, "pasado mañana": 2},
    "it": {"l'altro ieri": -2, "ieri": -1, "oggi": 0, "stasera": 0, "domani": 1, "dopodomani": 2},
    "pt": {"anteontem": -2, "ontem": -1, "hoje": 0, "amanhã": 1, "depois de amanhã": 2},
    "nl": {"eergisteren": -2, "gisteren": -1, "vandaag": 0, "vanavond": 0, "overmorgen": 2},
    "pl": {"przedwczoraj": -2, "wczoraj": -1, "dzisiaj": 0, "dziś": 0, "jutro": 1, "pojutrze": 2},
    "ru": {"позавчера": -2, "вчера": -1, "сегодня": 0, "завтра": 1, "послезавтра": 2},
    "zh": {"前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "明天": 1, "后天": 2},
    "ja": {"おととい": -2, "一昨日": -2, "昨日": -1, "今日": 0, "明日": 1, "明後日": 2, "あさって": 2},
    "ko": {"그저께": -2, "어제": -1, "오늘": 0, "내일": 1, "모레": 2},
}  # fmt: skip
# Months and years from that of the day.
_MONTHS: Mapping[str, Mapping[str, int]] = {
    "de": {"letzten monat": -1, "nächsten monat": 1}, "fr": {"le mois dernier": -1, "le mois prochain": 1},
    "es": {"el mes pasado": -1, "el mes que viene": 1, "el próximo mes": 1},
    "it": {"il mese scorso": -1, "il mese prossimo": 1}, "pt": {"mês passado": -1, "mês que vem": 1},
    "nl": {"vorige maand": -1, "volgende maand": 1}, "pl": {"w zeszłym miesiącu": -1, "w przyszłym miesiącu": 1},
    "ru": {"в прошлом месяце": -1, "в следующем месяце": 1}, "zh": {"上个月": -1, "下个月": 1},
    "ja": {"先月": -1, "来月": 1}, "ko": {"지난달": -1, "다음 달": 1},
}  # fmt: skip
_YEARS: Mapping[str, Mapping[str, int]] = {
    "de": {"letztes jahr": -1, "nächstes jahr": 1}, "fr": {"l'année dernière": -1, "l'an dernier": -1},
    "es": {"el año pasado": -1, "el año que viene": 1}, "it": {"l'anno scorso": -1, "l'anno prossimo": 1},
    "pt": {"ano passado": -1, "ano que vem": 1}, "nl": {"vorig jaar": -1, "volgend jaar": 1},
    "pl": {"w zeszłym roku": -1, "w przyszłym roku": 1}, "ru": {"в прошлом году": -1, "в следующем году": 1},
    "zh": {"去年": -1, "明年": 1}, "ja": {"去年": -1, "来年": 1}, "ko": {"작년": -1, "내년": 1},
}  # fmt: skip
# Weeks from that of the day.
_WEEKS: Mapping[str, Mapping[str, int]] = {
    "de": {"letzte woche": -1, "letzter woche": -1, "vorige woche": -1, "nächste woche": 1, "nächster woche": 1},
    "fr": {"la semaine dernière": -1, "la semaine prochaine": 1},
    "es": {"la semana pasada": -1, "la semana que viene": 1, "la próxima semana": 1},
    "it": {"la settimana scorsa": -1, "la settimana prossima": 1}, "pt": {"semana passada": -1, "semana que vem": 1},
    "nl": {"vorige week": -1, "volgende week": 1}, "pl": {"w zeszłym tygodniu": -1, "w przyszłym tygodniu": 1},
    "ru": {"на прошлой неделе": -1, "на следующей неделе": 1},
    "zh": {"上周": -1, "上星期": -1, "上个星期": -1, "下周": 1, "下星期": 1, "下个星期": 1},
    "ja": {"先週": -1, "来週": 1}, "ko": {"지난주": -1, "다음 주": 1},
}  # fmt: skip
# Seasons that are over, by the month in which they begin. Chinese names the year instead.
_SEASONS: Mapping[str, Mapping[str, int]] = {
    "de": {"letzten frühling": 3, "letztes frühjahr": 3, "letzten sommer": 6, "letzten herbst": 9,
           "letzten winter": 12},
}  # fmt: skip
# Times ago: "vor zwei Wochen", 三天前. A number in words, or in figures; then a unit.
_UNITS: Mapping[str, Mapping[str, str]] = {
    "de": {"tag": "day", "tagen": "day", "woche": "week", "wochen": "week", "monat": "month", "monaten": "month",
           "jahr": "year", "jahren": "year"},
    "zh": {"天": "day", "周": "week", "个星期": "week", "星期": "week", "个月": "month", "年": "year"},
}  # fmt: skip
_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "de": {"einem": 1, "einer": 1, **{word: number for number, word in enumerate(
        ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"), 2)}},
    "zh": {"两": 2, **{word: number for number, word in enumerate("一二三四五六七八九十", 1)}},
}  # fmt: skip
_AGO: Mapping[str, str] = {
    "de": r"vor ({numbers}|\d{{1,3}}) ({units})",
    "zh": r"(?<![第一二三四五六七八九十百\d])({numbers}|\d{{1,3}})({units})(?:以前|之前|前)",
}
_UNSPACED = ("zh", "ja")
_NO_WEEK = "(?![末一二三四五六日天])"  # 上周三 is a day, which is not told
_AMBIGUOUS = frozenset({"hier"})  # here, in German and Dutch


def dated(text: str, sent_at: dt.datetime, zone: dt.tzinfo) -> str:
    """Return a statement with a date after each relative one, as its author meant it, whose time zone is ``zone``."""
    said_on = day_of(sent_at, zone)
    languages = likeliest_languages(text)
    language = languages[0] if len(languages) == 1 else ""
    if language != ENGLISH:
        text = _with_dates(text, said_on, language)
    return with_dates(text, said_on) if not languages or ENGLISH in languages else text


def _with_dates(text: str, said_on: dt.date, language: str) -> str:
    """Return a statement in a language with dates; in "", one too short to tell which."""
    unspaced = language in _UNSPACED

    def with_date(match: re.Match[str]) -> str:
        try:
            date = _date_of(match[0].lower(), said_on, language)
        except (KeyError, OverflowError):  # "geſtern", which the pattern finds too; a day outside the calendar
            return match[0]
        return f"{match[0]}（{date}）" if unspaced else f"{match[0]} ({date})"

    return _pattern(language).sub(with_date, text)


@cache
def _pattern(language: str) -> re.Pattern[str]:
    words = {word for table in (_DAYS, _MONTHS, _YEARS, _WEEKS, _SEASONS) for word in _words(table, language)}
    weeks = _words(_WEEKS, language) if language in _UNSPACED else {}
    alternatives = "|".join(
        re.escape(one) + (_NO_WEEK if one in weeks else "") for one in sorted(words, key=len, reverse=True)
    )
    if language in _AGO:
        alternatives = f"{_ago(language).pattern}|{alternatives}"
    before, after = ("", "") if language in _UNSPACED else (r"(?<![\w'’-])", r"(?![\w'’-])")
    return re.compile(rf"{before}(?:{alternatives}){after}(?! ?[(（])", re.IGNORECASE)


@cache
def _ago(language: str) -> re.Pattern[str]:
    numbers, units = ("|".join(sorted(each[language], key=len, reverse=True)) for each in (_NUMBERS, _UNITS))
    return re.compile(_AGO[language].format(numbers=numbers, units=units))


def _words(table: Mapping[str, Mapping[str, int]], language: str) -> dict[str, int]:
    if language:
        return dict(table.get(language, {}))
    spaced = {word: step for name, words in table.items() if name not in _UNSPACED for word, step in words.items()}
    return {word: step for word, step in spaced.items() if word not in _AMBIGUOUS}


def _date_of(words: str, said_on: dt.date, language: str) -> str:
    if (days := _words(_DAYS, language).get(words)) is not None:
        return (said_on + dt.timedelta(days=days)).isoformat()
    if (months := _words(_MONTHS, language).get(words)) is not None:
        return _month(said_on, months)
    if (weeks := _words(_WEEKS, language).get(words)) is not None:
        monday = said_on + dt.timedelta(weeks=weeks, days=-said_on.weekday())
        return f"{monday} – {monday + dt.timedelta(days=6)}"
    if (begins := _words(_SEASONS, language).get(words)) is not None:
        return _season(said_on, begins)
    if language in _AGO and (match := _ago(language).fullmatch(words)):
        return _date_ago(said_on, language, *match.groups())
    return _year(said_on.year + _words(_YEARS, language)[words])


def _season(said_on: dt.date, begins: int) -> str:
    """Return the months of the last season that is over and begins in a month."""
    steps = (begins - said_on.month) % 12 or 12
    steps -= 12 if steps <= 9 else 24
    return f"{_month(said_on, steps)} – {_month(said_on, steps + 2)}"


def _date_ago(said_on: dt.date, language: str, number: str, unit: str) -> str:
    """Return the day, or of months and years the month and the year, so long before a day."""
    count, unit = _NUMBERS[language].get(number) or int(number), _UNITS[language][unit]
    if unit in ("day", "week"):
        return (said_on - dt.timedelta(days=count * (7 if unit == "week" else 1))).isoformat()
    return _month(said_on, -count) if unit == "month" else _year(said_on.year - count)


def _month(said_on: dt.date, step: int) -> str:
    months = said_on.year * 12 + said_on.month - 1 + step
    return f"{_year(months // 12)}-{months % 12 + 1:02}"


def _year(year: int) -> str:
    """Return a year as it is written. Raise OverflowError for one outside the calendar."""
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise OverflowError
    return str(year)
