"""SQL of the search: one statement for each table, which runs all retrievers and returns the best hits of each.

Each row of the scope is read once, with its cosines and its lexemes of the query. Vectors are compared exactly: an
approximate index loses recall under a filter. Words are scored by BM25 (or ts_rank) with document frequencies of the
searched rows. Parameters: ``lexemes``, ``any`` (a tsquery that matches any of them), ``model``, ``whole``,
``sentence_0`` and so on, and those of the scope.
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
    vectors: Mapping[str, str]
    words: Mapping[str, tuple[str, str]]
    columns: str
    joins: str = ""


def search_sql(table: SearchTable, scope: str, preset: Preset, *, vectors: bool, words: bool, sentences: int) -> str:
    """Return the statement for the rows of ``table`` in ``scope``, or an empty string if no retriever can run."""
    by_vector = [name for name in preset.retrievers if vectors and name in table.vectors]
    by_words = [name for name in preset.retrievers if words and name in table.words]
    if not by_vector and not by_words:
        return ""
    is_bm25 = preset.word_score == "bm25"
    columns = [f"{_similarity_sql(table, name, preset, sentences)} AS {name}" for name in by_vector]
    for name in by_words:
        columns += _bm25_columns(table, name) if is_bm25 else [_ts_rank_column(table, name)]
    parts = [f"scoped AS MATERIALIZED (SELECT p.id, {', '.join(columns)} FROM {table.table} p WHERE {scope})"]
    if by_words and is_bm25:
        parts += [_corpus_cte(by_words), *(_bm25_ctes(name, preset.b) for name in by_words)]
    scores = {name: ("scoped", name) for name in by_vector}
    scores |= {name: (name, "score") if is_bm25 else ("scoped", name) for name in by_words}
    pool = " UNION ".join(f"({_best_ids_sql(cte, column)})" for cte, column in scores.values())
    values = ", ".join(f"coalesce({cte}.{column}, 0) AS {name}" for name, (cte, column) in scores.items())
    joins = " ".join(f"LEFT JOIN {name} ON {name}.id = p.id" for name in by_words if is_bm25)
    return (
        f"WITH {', '.join(parts)}, pool AS ({pool}) SELECT {table.columns}, {values}"
        f" FROM pool JOIN {table.table} p ON p.id = pool.id JOIN scoped ON scoped.id = p.id {table.joins} {joins}"
    )


def _best_ids_sql(cte: str, column: str) -> str:
    return f"SELECT id FROM {cte} WHERE {column} IS NOT NULL ORDER BY {column} DESC, id LIMIT {HITS_PER_RETRIEVER}"


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


def _ts_rank_column(table: SearchTable, retriever: str) -> str:
    column, _ = table.words[retriever]
    matched = f"p.{column} @@ %(any)s::tsquery"
    return f"CASE WHEN {matched} THEN ts_rank(p.{column}, %(any)s::tsquery) END AS {retriever}"


def _bm25_columns(table: SearchTable, retriever: str) -> list[str]:
    """Return the length of the text and its lexemes that are the query's.

    Deleting all others before unnest() halves its time, most of which goes into their positions.
    """
    column, length = table.words[retriever]
    own = f"ts_delete(p.{column}, tsvector_to_array(ts_delete(p.{column}, %(lexemes)s::text[])))"
    return [
        f"{length}::float AS {retriever}_length",
        f"CASE WHEN p.{column} @@ %(any)s::tsquery THEN {own} END AS {retriever}_lexemes",
    ]


def _corpus_cte(retrievers: list[str]) -> str:
    means = ", ".join(f"greatest(avg({name}_length), 1)::float AS {name}_mean" for name in retrievers)
    return f"corpus AS MATERIALIZED (SELECT count(*)::float AS n, {means} FROM scoped)"


def _bm25_ctes(retriever: str, b: float) -> str:
    """Return the CTEs of BM25 as a fraction of its maximum."""
    return f"""
        {retriever}_hits AS MATERIALIZED (
            SELECT id, {retriever}_length AS length, hit.lexeme, cardinality(hit.positions) AS tf
            FROM scoped CROSS JOIN LATERAL unnest({retriever}_lexemes) AS hit
            WHERE {retriever}_lexemes IS NOT NULL
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
