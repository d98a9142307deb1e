"""Lexemes of Postgres's full-text search: words stemmed, without stop words."""

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.db.models import Func, Value

from apps.common.database.replica import reading_connection

LANGUAGE = "english"
MAX_CHARACTERS = 200_000  # a tsvector may take 1 MB
MAX_QUERY_LEXEMES = 1000  # prose of 20,000 characters has fewer


class Lexemes(Func):
    """The tsvector of a text or of an expression."""

    function = "to_tsvector"
    template = f"%(function)s('{LANGUAGE}', %(expressions)s)"
    output_field = SearchVectorField()

    def __init__(self, text: Any) -> None:
        super().__init__(Value(text[:MAX_CHARACTERS]) if isinstance(text, str) else text)


def lexemes_of(text: str) -> list[str]:
    """Return the distinct lexemes of a query: of very many those that it repeats most, of equals the first."""
    sql = f"""SELECT array(
        SELECT lexeme FROM unnest(to_tsvector('{LANGUAGE}', %s))
        ORDER BY cardinality(positions) DESC, positions[1], lexeme LIMIT {MAX_QUERY_LEXEMES})"""  # noqa: S608
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, [text[:MAX_CHARACTERS]])
        (lexemes,) = cursor.fetchone()
    return list(lexemes)


def match_any_query(lexemes: Iterable[str]) -> str:
    """Return a tsquery that matches any of the lexemes."""
    return " | ".join("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
