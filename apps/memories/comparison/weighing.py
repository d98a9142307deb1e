"""The signals of a pair, weighed: how likely the newer statement replaces the older one, repeats it, or neither."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from apps.llm.embeddings import get_embedder
from apps.memories.comparison.signals import Pair, signals
from apps.memories.regression import Regression, fitted, read

FILE = Path(__file__).with_name("weights.json")
SHRINK = 20.0  # pairs


class Comparison(NamedTuple):
    """Likelihoods, 0 to 1, that add up to 1."""

    superseded: float
    duplicate: float
    passed: float


def compare(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """For each (older statement, newer one, kind), by this machine's embedding model. Raises EmbeddingUnavailable."""
    if not pairs:
        return []
    found = signals([Pair(*pair) for pair in pairs], get_embedder().embed)
    return [Comparison(*map(float, row)) for row in _weights().likelihoods(found)]


@cache
def _weights() -> Regression:
    return read(FILE)


def learn(pairs: Sequence[tuple[str, str, str]], verdicts: Sequence[str]) -> Regression:
    """How much each signal tells; ``verdicts`` name fields of Comparison. Raises EmbeddingUnavailable."""
    found = signals([Pair(*pair) for pair in pairs], get_embedder().embed)
    return fitted(found, [Comparison._fields.index(verdict) for verdict in verdicts], shrink=SHRINK)
