"""Measure a ranking for a query. ``gold`` holds the items that answer it. Without database access."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log2, sqrt

DEPTHS = (5, 10, 20)


def recall_at(depth: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return the share of the gold items that are among the first ``depth`` of the ranking."""
    return len(set(ranking[:depth]) & set(gold)) / len(gold)


def ndcg_at(depth: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return the normalized discounted cumulative gain of the first ``depth``. A gold item has the gain 1."""
    gain = sum(1 / log2(index + 2) for index, item in enumerate(ranking[:depth]) if item in gold)
    return gain / sum(1 / log2(index + 2) for index in range(min(depth, len(gold))))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return 1 / rank of the first gold item, or 0 if there is none."""
    return next((1 / rank for rank, item in enumerate(ranking, 1) if item in gold), 0.0)


def measure(ranking: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Return all measures of one ranking by name."""
    return {
        **{f"recall@{depth}": recall_at(depth, ranking, gold) for depth in DEPTHS},
        "ndcg@10": ndcg_at(10, ranking, gold),
        "mrr": reciprocal_rank(ranking, gold),
    }


def mean(measures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure; an empty result without measures."""
    rows = list(measures)
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}


def interval(measures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return half the width of the 95 % confidence interval of each measure's mean; 0 for a single row."""
    rows = list(measures)
    means = mean(rows)
    squares = {name: sum((row[name] - each) ** 2 for row in rows) for name, each in means.items()}
    return {name: 1.96 * sqrt(square / max(len(rows) - 1, 1) / len(rows)) for name, square in squares.items()}
