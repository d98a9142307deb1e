"""Lexemes of Postgres's full-text search: words stemmed, without stop words.

A text is folded (see ``words``). English, and what tells no language, is stemmed as English. Another language that
Postgres knows is stemmed as such, and its words stand beside their stems as they are written, so that a name is found
in a query of any language. A few words of a query that may be of several languages are stemmed as each of them. Scripts
without spaces are cut into pairs of characters. Codes and dates in figures are lexemes too.
"""

import datetime as dt
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.db.models import Expression

from apps.common.database.replica import reading_connection
from apps.text.dates import date_lexemes
from apps.text.languages import ENGLISH, configuration_of, likeliest_configurations
from apps.text.words import characters, codes, divided, folded, pairs

MAX_CHARACTERS = 200_000  # a tsvector may take 1 MB
MAX_OTHER_CHARACTERS = 80_000  # of a script whose letters take more bytes, or of a language that is stored twice
MAX_QUERY_LEXEMES = 1000  # prose of 20,000 characters has fewer
FEW_WORDS = 200  # characters; a longer text of some language has one of its function words
MAX_BYTES = 2046  # of a lexeme: to_tsvector leaves out longer ones, a cast refuses them
MAX_TIMES = 255  # of a lexeme in a tsvector

Part = tuple[str, str]  # SQL with a placeholder, and its value


class Lexemes(Expression):
    """The tsvector of a text, and of the day on which it was said."""

    output_field = SearchVectorField()

    def __init__(self, text: str, day: dt.datetime | None = None) -> None:
        super().__init__()
        self.text = text
        self.day = f"{day:%Y-%m-%d}" if day else ""

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str, ...]]:
        """Return the SQL and its parameters."""
        return _joined(_parts(self.text, [configuration_of(self.text) or ENGLISH], self.day))


def lexemes_of(text: str) -> list[str]:
    """Return the distinct lexemes of a query: of very many those that it repeats most, of equals the first.

    A few words that don't tell their language, such as a name, are taken as English and as they are written.
    """
    languages = likeliest_configurations(text)
    if len(text) > FEW_WORDS:
        languages = languages[:1]
    parts = list(_parts(text, languages or [ENGLISH]))
    if not languages and len(text) <= FEW_WORDS:
        parts.append(_simple(text))
    vector, values = _joined(parts)
    sql = f"""SELECT array(
        SELECT lexeme FROM unnest({vector})
        ORDER BY cardinality(positions) DESC, positions[1], lexeme LIMIT {MAX_QUERY_LEXEMES})"""  # noqa: S608
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, values)
        (lexemes,) = cursor.fetchone()
    return list(lexemes)


def match_any_query(lexemes: Iterable[str]) -> str:
    """Return a tsquery that matches any of the lexemes."""
    return " | ".join(_quoted(lexeme) for lexeme in lexemes)


def match_names_query(names: Iterable[Sequence[str]]) -> str:
    """Return a tsquery that matches all lexemes of any of the names."""
    return " | ".join("(" + " & ".join(map(_quoted, lexemes)) + ")" for lexemes in names if lexemes)


def _joined(parts: Iterable[Part]) -> tuple[str, tuple[str, ...]]:
    sql, values = zip(*parts, strict=True)
    return "(" + " || ".join(sql) + ")", values


def _parts(text: str, languages: Sequence[str], day: str = "") -> Iterator[Part]:
    """Yield the stems of a text, its words as they are written if they aren't English, and what Postgres can't tell."""
    if ENGLISH in languages:
        yield _stemmed(ENGLISH, folded(divided(text[:MAX_CHARACTERS])))
    if others := [language for language in languages if language != ENGLISH]:
        # Postgres's stemmers know the accents of their languages, not "ё", which people write as "е".
        composed = unicodedata.normalize("NFKC", text[:MAX_OTHER_CHARACTERS])
        words = divided(composed).lower().replace("ё", "е")
        yield from (_stemmed(language, words) for language in others)
        yield _simple(text)
    text = text[:MAX_OTHER_CHARACTERS]
    plain = folded(text)
    found = chain(pairs(plain), characters(plain), codes(text), date_lexemes(f"{plain} {day}"))
    if counted := Counter(each for each in found if len(each.encode()) <= MAX_BYTES):
        yield "%s::tsvector", " ".join(f"{_quoted(each)}:{_positions(times)}" for each, times in counted.items())


def _stemmed(language: str, words: str) -> Part:
    return f"to_tsvector('{language}', %s)", words


def _simple(text: str) -> Part:
    return _stemmed("simple", folded(divided(text[:MAX_OTHER_CHARACTERS])))


def _positions(times: int) -> str:
    """Return as many positions; only their number is ever used."""
    return ",".join(map(str, range(1, min(times, MAX_TIMES) + 1)))


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
