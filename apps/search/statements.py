"""SQL of the search: a statement that scans a scope, one for words of single rows, and one for single rows.

The scan returns one row: the values of all rows in the scope, packed by column. Vectors are compared exactly: an
approximate index loses recall under a filter. The words of the query are read from a row's ``terms``, numbers of its
lexemes, by a dot product with ``search_pattern()``, which yields a pattern (see ``bm25``). Postgres computes the terms:
see the migration 0007.

Parameters: ``lexemes``, ``lexemes_0`` and so on (those of each pattern), ``any`` (a tsquery that matches any of them),
``model``, ``whole``, ``sentence_0`` and so on, and those of the scope; for single rows ``ids``.
"""

# ruff: noqa: S608 - composed of our own constants; user input is always a parameter

from collections.abc import Mapping
from dataclasses import dataclass

from apps.search.bm25 import pattern_count
from apps.search.presets import Preset


@dataclass(frozen=True)
class SearchTable:
    """A searchable table, named ``p`` in the statement.

    ``vectors``: the column of each retriever. ``words``: for each retriever the column of lexemes and the length of its
    text. ``columns`` are of ``p`` and ``joins``.
    """

    table: str
    vectors: Mapping[str, str]
    words: Mapping[str, tuple[str, str]]
    columns: str
    joins: str = ""


def scan_sql(rows: str, columns: Mapping[str, str]) -> str:
    """Return the statement that reads ``columns`` of ``rows``, which is what follows FROM and names them ``p``.

    It yields the ids and each column as bytes: 16 for an id, 4 for a number, which is NaN for null.
    """
    values = ["uuid_send(p.id)", *(f"float4send(coalesce(({sql})::real, 'NaN'))" for sql in columns.values())]
    packed = ", ".join(f"string_agg({value}, '')" for value in values)
    return f"SELECT {packed} FROM {rows}"


def scan_columns(table: SearchTable, preset: Preset, *, vectors: bool, lexemes: int, sentences: int) -> dict[str, str]:
    """Return the SQL of the columns that the preset's retrievers need; nothing if none can run.

    ``lexemes`` and ``sentences`` are how many the query has.
    """
    columns = {}
    for name in preset.retrievers:
        if vectors and name in table.vectors:
            columns[name] = _similarity_sql(table, name, preset, sentences)
        elif lexemes and name in table.words and preset.word_score == "ts_rank":
            columns[name] = _ts_rank_sql(table, name)
        elif lexemes and name in table.words:
            columns[f"{name}_length"] = table.words[name][1]
            columns |= {f"{name}_{n}": _pattern_sql(table, name, n) for n in range(pattern_count(lexemes))}
    return columns


def times_sql(table: SearchTable, retriever: str) -> str:
    """Return the statement for the query's lexemes in single rows, and how often each occurs there.

    Without the other lexemes, but those of an imported row that have weights, unnest() takes half the time.
    """
    own = f"ts_filter(setweight(p.{table.words[retriever][0]}, 'A', %(lexemes)s::text[]), '{{a}}')"
    return f"""
        SELECT p.id, array_agg(array_position(%(lexemes)s::text[], lexeme) - 1) AS places,
            array_agg(cardinality(positions)) AS times
        FROM {table.table} p CROSS JOIN LATERAL unnest({own})
        WHERE lexeme = ANY(%(lexemes)s::text[]) AND p.owner_id = %(owner)s AND p.id = ANY(%(ids)s::uuid[])
        GROUP BY p.id"""


def rows_sql(table: SearchTable) -> str:
    """Return the statement for the columns of single rows."""
    return f"""
        SELECT p.id AS row_id, {table.columns} FROM {table.table} p {table.joins}
        WHERE p.owner_id = %(owner)s AND p.id = ANY(%(ids)s::uuid[])"""


def _similarity_sql(table: SearchTable, retriever: str, preset: Preset, sentences: int) -> str:
    """Return the cosine with the query, mixed with that of its best sentence; null without a vector of the model.

    ``<#>`` is the negative dot product.
    """
    column = f"p.{table.vectors[retriever]}"
    similarity = f"-({column} <#> %(whole)s::halfvec)"
    if sentences and preset.whole_query_share < 1:
        each = ", ".join(f"-({column} <#> %(sentence_{n})s::halfvec)" for n in range(sentences))
        similarity = f"{preset.whole_query_share} * {similarity} + {1 - preset.whole_query_share} * greatest({each})"
    return f"CASE WHEN p.embedding_model = %(model)s THEN {similarity} END"


def _ts_rank_sql(table: SearchTable, retriever: str) -> str:
    column, _ = table.words[retriever]
    matched = f"p.{column} @@ %(any)s::tsquery"
    return f"CASE WHEN {matched} THEN ts_rank(p.{column}, %(any)s::tsquery) END"


def _pattern_sql(table: SearchTable, retriever: str, number: int) -> str:
    """Return the pattern of a number; null for a row without words. ``<#>`` is the negative dot product."""
    terms = table.words[retriever][0].replace("lexemes", "terms")
    return f"-(p.{terms} <#> search_pattern(%(lexemes_{number})s::text[]))"
