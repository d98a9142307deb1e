"""Find the rows that each retriever ranks best, by a scan of all rows in a scope."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.common.database.replica import reading_connection
from apps.search.bm25 import WordScores, pattern_count, score_words
from apps.search.presets import Preset
from apps.search.statements import SearchTable, rows_sql, scan_columns, scan_sql, times_sql

HITS_PER_RETRIEVER = 100  # more hits didn't change the results in conversations of 700 turns
NOT_FOUND = -np.inf


@dataclass(frozen=True)
class Scan:
    """All rows in a scope: their ids, 16 bytes each, and their numbers by column, with NaN where there is none."""

    ids: bytes
    columns: Mapping[str, np.ndarray]

    def id(self, row: int) -> bytes:
        """Return the id of a row, by its place in the scan."""
        return self.ids[16 * row : 16 * row + 16]


def best_rows(table: SearchTable, rows: str, preset: Preset, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that a retriever ranks among its best, by column, with their scores under ``retrievers``.

    ``rows`` is what follows FROM in the scan, and names some rows of the table ``p``.
    """
    lexemes = len(parameters["lexemes"])
    sentences = sum(name.startswith("sentence_") for name in parameters)
    columns = scan_columns(table, preset, vectors="whole" in parameters, lexemes=lexemes, sentences=sentences)
    if not columns:
        return []
    scan = _scan(scan_sql(rows, columns), list(columns), parameters)
    words = {name: _word_scores(scan, name, lexemes, preset.b) for name in preset.retrievers if f"{name}_0" in columns}
    scores = {name: _found(scan.columns[name]) for name in preset.retrievers if name in columns}
    scores |= {name: each.least for name, each in words.items()}
    best = {name: _best(values, scan) for name, values in scores.items()}
    for name in _make_exact(table, scan, words, best, parameters):
        best[name] = _best(scores[name], scan)
    places = {scan.id(row): row for each in best.values() for row in each}
    found = _rows(rows_sql(table), parameters, places)
    return [row | {"retrievers": _retrievers(scores, places[row["row_id"].bytes])} for row in found]


def _scan(sql: str, names: Sequence[str], parameters: Mapping[str, Any]) -> Scan:
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, parameters)
        ids, *columns = (column or b"" for column in cursor.fetchone())
    numbers = [np.frombuffer(column, ">f4").astype(np.float64) for column in columns]
    return Scan(ids, dict(zip(names, numbers, strict=True)))


def _found(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), NOT_FOUND, scores)


def _word_scores(scan: Scan, retriever: str, lexemes: int, b: float) -> WordScores:
    patterns = [scan.columns[f"{retriever}_{number}"] for number in range(pattern_count(lexemes))]
    return score_words(patterns, scan.columns[f"{retriever}_length"], lexemes, b)


def _make_exact(
    table: SearchTable,
    scan: Scan,
    words: Mapping[str, WordScores],
    best: Mapping[str, Sequence[int]],
    parameters: Mapping[str, Any],
) -> Iterator[str]:
    """Replace least scores by exact ones in all rows that could be among the best. Yield the retrievers with changes.

    These rows are the best ones by their least scores, and those of which the greatest score reaches them.
    """
    candidates = {row for rows in best.values() for row in rows}
    candidates |= {row for name, each in words.items() for row in each.reaching(_least_of(each, best[name]))}
    for name, each in words.items():
        unsure = {scan.id(row): row for row in candidates if not each.is_exact(row)}
        for found in _rows(times_sql(table, name), parameters, unsure):
            row = unsure[found["id"].bytes]
            each.least[row] = each.exact(row, dict(zip(found["places"], found["times"], strict=True)))
        if unsure:
            yield name


def _least_of(words: WordScores, best: Sequence[int]) -> float:
    return float(words.least[best[-1]]) if len(best) == HITS_PER_RETRIEVER else 0.0


def _best(scores: np.ndarray, scan: Scan) -> list[int]:
    """Return the rows with the best scores; equal ones in the order of their ids."""
    found = np.flatnonzero(scores > NOT_FOUND)
    if len(found) > HITS_PER_RETRIEVER:
        enough = np.partition(scores[found], -HITS_PER_RETRIEVER)[-HITS_PER_RETRIEVER]
        found = found[scores[found] >= enough]
    ranked = sorted(zip((-scores[found]).tolist(), map(scan.id, found.tolist()), found.tolist(), strict=True))
    return [row for *_, row in ranked[:HITS_PER_RETRIEVER]]


def _rows(sql: str, parameters: Mapping[str, Any], ids: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the rows with these ids by column."""
    array = ",".join(row_id.hex() for row_id in ids)
    if not array:
        return []
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, {**parameters, "ids": f"{{{array}}}"})
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _retrievers(scores: Mapping[str, np.ndarray], row: int) -> dict[str, float]:
    return {name: float(values[row]) if values[row] > NOT_FOUND else 0.0 for name, values in scores.items()}
