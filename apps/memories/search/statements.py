"""SQL of the search: one statement for each table, which runs all retrievers and returns the best hits of each.

Vectors are compared exactly: an approximate index loses recall under a filter. Words are scored by BM25 (or ts_rank)
with document frequencies of the searched rows. Parameters: ``lexemes``, ``any`` (a tsquery that matches any of them),
``model``, ``whole``, ``sentence_0`` and so on, and those of the scope.
"""

# ruff: noqa: S608 - composed of our own constants; user input is always a parameter

from collections.abc import Mapping
from dataclasses import dataclass

from apps.memories.search.presets import Preset

HITS_PER_RETRIEVER = 100  # more hits didn't change the results in conversations of 700 turns
K1 = 1.2  # BM25's saturation of repeated words, at its usual value


@dataclass(frozen=True)
class SearchTable:
    """A searchable table, named ``p`` in the statement.

    ``vectors``: the column of each retriever. ``words``: for each retriever the column of lexemes and the length of its
    text. ``columns`` are returned with the retrievers, from ``p`` and ``joins``.
    """

    table: str
    vector_type: str
    vectors: Mapping[str, str]
    words: Mapping[str, tuple[str, str]]
    columns: str
    joins: str = ""


def search_sql(table: SearchTable, scope: str, preset: Preset, *, vectors: bool, words: bool, sentences: int) -> str:
    """Return the statement for the rows of ``source`` in ``scope``, or an empty string if no retriever can run."""
    by_vector = [name for name in preset.retrievers if vectors and name in table.vectors]
    by_words = [name for name in preset.retrievers if words and name in table.words]
    if not by_vector and not by_words:
        return ""
    parts = [_cosines_cte(table, scope, preset, by_vector, sentences)] if by_vector else []
    parts += [_corpus_cte(table, scope)] if by_words and preset.word_score == "bm25" else []
    parts += [_words_cte(table, scope, preset, name) for name in by_words]
    columns = {name: f"cosines.{name}" for name in by_vector} | {name: f"{name}.score" for name in by_words}
    pool = " UNION ".join(f"({_best_ids_sql('cosines', name)})" for name in by_vector) if by_vector else ""
    pool = " UNION ".join(filter(None, [pool, *(f"({_best_ids_sql(name, 'score')})" for name in by_words)]))
    values = ", ".join(f"coalesce({column}, 0) AS {name}" for name, column in columns.items())
    joins = " ".join(f"LEFT JOIN {name} ON {name}.id = p.id" for name in (["cosines"] if by_vector else []) + by_words)
    return (
        f"WITH {', '.join(parts)}, pool AS ({pool})"
        f" SELECT {table.columns}, {values} FROM pool JOIN {table.table} p ON p.id = pool.id {table.joins} {joins}"
    )


def _best_ids_sql(cte: str, column: str) -> str:
    return f"SELECT id FROM {cte} ORDER BY {column} DESC NULLS LAST, id LIMIT {HITS_PER_RETRIEVER}"


def _cosines_cte(table: SearchTable, scope: str, preset: Preset, retrievers: list[str], sentences: int) -> str:
    cosines = ", ".join(f"{_similarity_sql(table, name, preset, sentences)} AS {name}" for name in retrievers)
    return (
        f"cosines AS MATERIALIZED (SELECT p.id, {cosines} FROM {table.table} p"
        f" WHERE {scope} AND p.embedding_model = %(model)s)"
    )


def _similarity_sql(table: SearchTable, retriever: str, preset: Preset, sentences: int) -> str:
    """Return the cosine with the query, mixed with that of its best sentence. ``<#>`` is the negative dot product."""
    column = f"p.{table.vectors[retriever]}"
    whole = f"-({column} <#> %(whole)s::{table.vector_type})"
    if not sentences or preset.whole_query_share == 1:
        return whole
    each = ", ".join(f"-({column} <#> %(sentence_{n})s::{table.vector_type})" for n in range(sentences))
    return f"{preset.whole_query_share} * {whole} + {1 - preset.whole_query_share} * greatest({each})"


def _corpus_cte(table: SearchTable, scope: str) -> str:
    means = ", ".join(f"greatest(avg({length}), 1)::float AS {name}_mean" for name, (_, length) in table.words.items())
    return f"corpus AS MATERIALIZED (SELECT count(*)::float AS n, {means} FROM {table.table} p WHERE {scope})"


def _words_cte(table: SearchTable, scope: str, preset: Preset, retriever: str) -> str:
    column, length = table.words[retriever]
    if preset.word_score == "ts_rank":
        return (
            f"{retriever} AS MATERIALIZED (SELECT p.id, ts_rank(p.{column}, %(any)s::tsquery) AS score"
            f" FROM {table.table} p WHERE {scope} AND p.{column} @@ %(any)s::tsquery)"
        )
    return _bm25_ctes(table.table, scope, retriever, f"p.{column}", length, preset.b)


def _bm25_ctes(table: str, scope: str, retriever: str, column: str, length: str, b: float) -> str:
    """Return the CTEs of BM25 as a fraction of its maximum.

    Deleting all lexemes but the query's before unnest() halves its time, most of which goes into their positions.
    """
    query_lexemes = f"ts_delete({column}, tsvector_to_array(ts_delete({column}, %(lexemes)s::text[])))"
    return f"""
        {retriever}_hits AS MATERIALIZED (
            SELECT p.id, {length}::float AS length, hit.lexeme, cardinality(hit.positions) AS tf
            FROM {table} p CROSS JOIN LATERAL unnest({query_lexemes}) AS hit
            WHERE {scope} AND {column} @@ %(any)s::tsquery
        ),
        {retriever}_idf AS MATERIALIZED (
            SELECT lexeme, ln(1 + (n - count(*) + 0.5) / (count(*) + 0.5)) AS idf
            FROM {retriever}_hits, corpus GROUP BY lexeme, n
        ),
        {retriever} AS MATERIALIZED (
            SELECT hits.id, sum(idf * tf / (tf + {K1} * ({1 - b} + {b} * length / {retriever}_mean)))
                / (SELECT sum(idf) FROM {retriever}_idf) AS score
            FROM {retriever}_hits AS hits JOIN {retriever}_idf USING (lexeme), corpus GROUP BY hits.id
        )"""
