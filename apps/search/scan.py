"""Find the rows of a scope that each retriever ranks best. One statement does it, in these steps:

1. ``sampled``: at most SAMPLE rows, which tell how common words are and how long a text is: those of the chats or of
   the namespace, since to tell which of these the scope has takes longer than all else.
2. ``weighted``: the weight of each lexeme of the query: its inverse document frequency.
3. ``asked``: these weights as a sparse vector, as shares of the sum of those ``known``, which the sample has.
4. ``scanned``: all rows of the scope with the score of each retriever. A vector's is a dot product with the query's; so
   is that of words, over the row's ``terms``.
5. ``first_NAME``: the rows that the retriever of that name ranks first.
6. ``shown``: those of them that may be found: of what costs more to tell than a row's own columns do, only these are
   asked. Where too few remain, the statement is repeated with all rows of the scope as the first ones.
7. ``best``: the best of these for each retriever, few enough to read their columns one by one.

Vectors are compared exactly: an approximate index loses hits under a filter.

``terms`` is a column that Postgres generates from a row's lexemes by the function ``search_terms``. It and
``search_query``, which makes the query's vector, are defined in migration 0014 of memories; ``search_term``, by which
both number a lexeme, in 0007. The number is a hash modulo 10⁹, so that two lexemes may have the same one: then each
matches the other.

The score of words is BM25. A lexeme that a row contains ``n`` times counts ``n * (1 + K1) / (n + K1)`` times, which is
the value in ``terms``; the sum is divided by ``1 + K1 * norm``, where ``norm`` is ``1 - b + b * length / mean length``.
For a row of mean length, and for words that stand in a row once, that is the formula of the textbook without its
constant factor ``1 + K1``: a share of its maximum. It differs for a word that a short or a long row repeats, and in
return a row's terms depend on nothing but the row.

How common words are is counted in the texts alone: the windows of texts (columns ``window_…``) are scored with the same
weights, so that one sample and one vector of the query serve both. Only the mean length of windows is their own.
"""

# ruff: noqa: S608 - composed of our own constants; user input is always a parameter

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.common.database.replica import reading_connection
from apps.search.presets import SearchPreset

HITS_PER_RETRIEVER = 100  # more hits didn't change the results in conversations of 700 turns
FIRST_ROWS = 200  # of each retriever, where not all of them may be found
ALL_FIRST = "SELECT id FROM first"  # the ids of the first rows of all retrievers, within the statement
SAMPLE = 1000  # rows; where there are no more, document frequencies are exact
K1 = 1.2  # BM25's saturation of repeated words, at its usual value; the database's function search_terms has it too


@dataclass(frozen=True)
class SearchTable:
    """A searchable table, named ``p`` in the statement.

    ``vectors``: the column of each retriever. ``words``: for each retriever the prefix of its columns ``lexemes`` and
    ``terms``, and SQL for the length of its text. The prefix is empty for those of the text, "window_" for those of the
    text with the turns around it. ``sampled_first`` is an order in which an index yields the rows of an owner.
    ``columns`` are of ``p`` and ``joins``.
    """

    table: str
    vectors: Mapping[str, str]
    words: Mapping[str, tuple[str, str]]
    sampled_first: str
    columns: str
    joins: str = ""

    def rows_where(self, condition: str) -> str:
        """Return what follows FROM for the rows of the table, named ``p``, that meet a condition."""
        return f"{self.table} p WHERE {condition}"


@dataclass(frozen=True)
class RowsToScan:
    """Which rows of a table the statement reads: its three parts in braces. This is its skeleton, with the steps above:

        WITH sampled AS (SELECT p.lexemes, … FROM {sampled} ORDER BY … LIMIT …),      -- 1
             …,                                                                       -- 2, 3
             scanned AS (SELECT p.id, SCORE AS NAME, … FROM {scanned}),               -- 4
             first_NAME AS (SELECT * FROM scanned ORDER BY NAME DESC, id LIMIT …), …  -- 5
             first AS (SELECT id FROM first_NAME UNION …),
             shown (id) AS ({shown}),                                                 -- 6
             best AS (SELECT * FROM first_NAME WHERE id IN (SELECT id FROM shown) …)  -- 7
        SELECT … FROM best JOIN TABLE p ON p.id = best.id …

    ``scanned`` and ``sampled`` name rows of the table ``p``, as ``rows_where`` does; without ``sampled``, the sample is
    of the rows scanned. ``shown`` selects the ids of those of ALL_FIRST that may be found. ``parameters`` are those of
    the three.
    """

    scanned: str
    parameters: Mapping[str, Any]
    sampled: str = ""
    shown: str = ALL_FIRST

    @property
    def are_hidden_in_part(self) -> bool:
        """Return whether not all of the first rows may be found, so that more of them are needed."""
        return self.shown != ALL_FIRST


def best_rows(
    table: SearchTable, rows: RowsToScan, preset: SearchPreset, encoded: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows that a retriever ranks among its best, by column, with their scores under ``retrievers``.

    Among the parameters of ``rows`` is ``owner``. ``encoded`` are those of the query: ``lexemes``, ``any`` (a tsquery
    that matches any of them), ``model``, ``whole``, ``sentence_0`` and so on.
    """
    scores = _scores(table, preset, encoded)
    if not scores:
        return []
    sql = best_rows_sql(table, rows, scores)
    values = {**rows.parameters, **encoded, "hits": HITS_PER_RETRIEVER, "sample": SAMPLE}
    best = _fetch(sql, {**values, "first": FIRST_ROWS if rows.are_hidden_in_part else HITS_PER_RETRIEVER})
    if best[0]["are_too_few"]:
        best = _fetch(sql, {**values, "first": None})  # LIMIT NULL is none
    return [row | {"retrievers": {name: row[f"score_{name}"] or 0.0 for name in scores}} for row in best if row["id"]]


def _fetch(sql: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def best_rows_sql(table: SearchTable, rows: RowsToScan, scores: Mapping[str, str]) -> str:
    """Return the statement. ``scores`` are the SQL of each retriever's score; null if it doesn't find the row.

    Each row tells whether too few of the first rows may be found; where none may, one without an id tells it.
    """
    has_words = any(name in table.words for name in scores)
    weights = _word_weights_sql(table, rows.sampled or rows.scanned) if has_words else ""
    values = ", ".join(f"{sql} AS {name}" for name, sql in scores.items())
    # A score exceeds 1 if the row has a lexeme that is in no sampled row, which may outweigh all others, or if it is
    # short and repeats words of the query. Then the best row has 1, and the others their share of it.
    shares = {name: f" / greatest(max(best.{name}) OVER (), 1)" for name in scores if name in table.words}
    returned = ", ".join(f"best.{name}{shares.get(name, '')} AS score_{name}" for name in scores)
    first = "".join(
        f"""
        first_{name} AS MATERIALIZED (
            SELECT * FROM scanned WHERE {name} IS NOT NULL ORDER BY {name} DESC, id LIMIT %(first)s
        ),"""
        for name in scores
    )
    each_first = " UNION ".join(f"SELECT id FROM first_{name}" for name in scores)
    shown_of = {name: f"FROM first_{name} WHERE id IN (SELECT id FROM shown)" for name in scores}
    best = " UNION ".join(f"(SELECT * {of} ORDER BY {name} DESC, id LIMIT %(hits)s)" for name, of in shown_of.items())
    too_few = " OR ".join(
        f"(SELECT count(*) FROM first_{name}) = %(first)s AND (SELECT count(*) {of}) < %(hits)s"
        for name, of in shown_of.items()
    )
    return f"""
        WITH {weights}
        -- 4. the scores of all rows of the scope
        scanned AS MATERIALIZED (SELECT p.id, {values} FROM {rows.scanned}),
        -- 5. the first rows of each retriever{first}
        first AS MATERIALIZED ({each_first}),
        -- 6. those of them that may be found
        shown (id) AS MATERIALIZED ({rows.shown}),
        -- 7. the best of these for each retriever, with their columns
        best AS MATERIALIZED ({best})
        SELECT are_too_few, {returned}, {table.columns}
        FROM (SELECT {too_few} AS are_too_few) AS outcome LEFT JOIN (
            best JOIN {table.table} p ON p.id = best.id AND p.owner_id = %(owner)s {table.joins}
        ) ON true"""


def _word_weights_sql(table: SearchTable, sampled: str) -> str:
    """Return the first three steps. Sampled are the rows that an index yields first, so that no others are read.

    With the query's lexemes alone, unnest() takes a third of the time: setweight() gives these the weight A, and
    ts_filter() keeps what has it. Weights belong to positions, so that a row without positions is taken whole.
    """
    words = table.words.values()
    lengths = ", ".join(f"{length} AS {prefix}length" for prefix, length in words)
    means = ", ".join(f"greatest(avg({prefix}length), 1)::float8 AS {prefix}length" for prefix, _ in words)
    return f"""
        -- 1. a sample, which tells how common words are
        sampled AS MATERIALIZED (
            SELECT p.lexemes, {lengths} FROM {sampled} ORDER BY {table.sampled_first} LIMIT %(sample)s
        ),
        mean AS MATERIALIZED (SELECT count(*) AS rows, {means} FROM sampled),
        found AS (
            SELECT lexeme, count(*) AS rows
            FROM sampled, unnest(
                CASE WHEN lexemes = strip(lexemes) THEN lexemes
                ELSE ts_filter(setweight(lexemes, 'A', %(lexemes)s::text[]), '{{a}}') END
            ) GROUP BY lexeme
        ),
        -- 2. the weights of the lexemes of the query
        weighted AS (
            SELECT lexeme, n, ln(1 + (mean.rows - n + 0.5) / (n + 0.5)) AS weight
            FROM unnest(%(lexemes)s::text[]) AS lexeme LEFT JOIN found USING (lexeme), mean,
                LATERAL (SELECT coalesce(found.rows, 0)::float8 AS n) AS counted
            WHERE n > 0 OR mean.rows = %(sample)s  -- a lexeme that is in no row has no weight
        ),
        known AS (  -- the others may be in no row at all, so that no row could reach the sum
            SELECT coalesce(sum(weight) FILTER (WHERE n > 0), sum(weight)) AS weight FROM weighted
        ),
        -- 3. these as a vector
        asked AS MATERIALIZED (
            SELECT search_query(array_agg(lexeme), array_agg(weighted.weight / known.weight)) AS terms
            FROM weighted, known
        ),"""


def _scores(table: SearchTable, preset: SearchPreset, encoded: Mapping[str, Any]) -> dict[str, str]:
    """Return the SQL of the scores of the preset's retrievers that can run."""
    scores = {}
    for name in preset.retrievers:
        if "whole" in encoded and name in table.vectors:
            scores[name] = _similarity_sql(table.vectors[name], preset, encoded)
        elif encoded["lexemes"] and name in table.words:
            bm25 = preset.word_score == "bm25"
            scores[name] = _bm25_sql(*table.words[name], preset.b) if bm25 else _ts_rank_sql(table.words[name][0])
    return scores


def _similarity_sql(column: str, preset: SearchPreset, encoded: Mapping[str, Any]) -> str:
    """Return the cosine with the query, mixed with that of its best sentence; null without a vector of the model.

    ``<#>`` is the negative dot product.
    """
    similarity = f"-(p.{column} <#> %(whole)s::halfvec)"
    sentences = [name for name in encoded if name.startswith("sentence_")]
    if sentences and preset.whole_query_share < 1:
        share = preset.whole_query_share
        each = ", ".join(f"-(p.{column} <#> %({name})s::halfvec)" for name in sentences)
        similarity = f"{share}::float8 * {similarity} + {1 - share}::float8 * greatest({each})"
    return f"CASE WHEN p.embedding_model = %(model)s THEN {similarity} END"


def _bm25_sql(prefix: str, length: str, b: float) -> str:
    """Return the BM25 as a fraction of its maximum; null for a row without a word of the query."""
    sum_of_terms = f"nullif(-(p.{prefix}terms <#> (SELECT terms FROM asked)), 0)"
    norm = f"{1 - b}::float8 + {b}::float8 * {length} / (SELECT {prefix}length FROM mean)"
    return f"{sum_of_terms} / (1 + {K1}::float8 * ({norm}))"


def _ts_rank_sql(prefix: str) -> str:
    matched = f"p.{prefix}lexemes @@ %(any)s::tsquery"
    return f"CASE WHEN {matched} THEN ts_rank(p.{prefix}lexemes, %(any)s::tsquery) END"
