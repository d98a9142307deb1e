"""The signals of a pair, weighed: how likely the newer statement replaces the older one, repeats it, or neither."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.llm.embeddings import get_embedder
from apps.memories.comparison.signals import Pair, signals

FILE = Path(__file__).with_name("weights.json")


class Comparison(NamedTuple):
    """Likelihoods, 0 to 1, that add up to 1."""

    superseded: float
    duplicate: float
    passed: float


@dataclass(frozen=True)
class Weights:
    """Of a softmax regression on standardised signals: one row of ``weights`` for each field of Comparison, one column
    for each name."""

    names: tuple[str, ...]
    means: np.ndarray[Any, Any]
    scales: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    biases: np.ndarray[Any, Any]

    def likelihoods(self, found: Sequence[dict[str, float]]) -> np.ndarray[Any, Any]:
        """A row for each pair's signals, a column for each field of Comparison."""
        values = np.array([[float(one[name]) for name in self.names] for one in found])
        scores = (values - self.means) / self.scales @ self.weights.T + self.biases
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)


def read(file: Path) -> Weights:
    kept = json.loads(file.read_text(encoding="utf-8"))
    arrays = (np.array(kept[name]) for name in ("means", "scales", "weights", "biases"))
    return Weights(tuple(kept["names"]), *arrays)


@cache
def weights() -> Weights:
    return read(FILE)


def compare(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """For each (older statement, newer one, kind), by this machine's embedding model. Raises EmbeddingUnavailable."""
    if not pairs:
        return []
    found = signals([Pair(*pair) for pair in pairs], get_embedder().embed)
    return [Comparison(*map(float, row)) for row in weights().likelihoods(found)]
