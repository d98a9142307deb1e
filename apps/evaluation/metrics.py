"""How well a ranking finds what answers a query. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log2

DEPTHS = (5, 10, 20)


def recall_at(depth: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """The share of the answers among the first ``depth``."""
    return len(set(ranking[:depth]) & set(gold)) / len(gold)


def ndcg_at(depth: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """The discounted gain of the first ``depth``, over that of the best order; an answer gains 1."""
    gain = sum(1 / log2(place + 2) for place, item in enumerate(ranking[:depth]) if item in gold)
    return gain / sum(1 / log2(place + 2) for place in range(min(depth, len(gold))))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """1 over the place of the first answer; 0 if none is found."""
    return next((1 / place for place, item in enumerate(ranking, 1) if item in gold), 0.0)


def measure(ranking: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Every measure of one ranking, by name."""
    return {
        **{f"recall@{depth}": recall_at(depth, ranking, gold) for depth in DEPTHS},
        "ndcg@10": ndcg_at(10, ranking, gold),
        "mrr": reciprocal_rank(ranking, gold),
    }


def mean(measures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure; empty for no measures."""
    rows = list(measures)
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}
