"""Softmax regression on a sentence's features: predict, and keep as a file. Without database access."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Model:
    """Fitted model. ``weights`` have a row for each bucket and a column for each class."""

    weights: Matrix
    biases: Matrix

    def probabilities(self, examples: Sequence[Sequence[int]]) -> Matrix:
        """Return a row for each example, given by its buckets, and a column for each class."""
        scores = [self.weights[buckets].sum(axis=0) / np.sqrt(len(buckets)) for buckets in examples]
        return softmax(np.reshape(scores, (len(examples), len(self.biases))) + self.biases)

    def save(self, file: Path) -> None:
        """Write the weights, rounded to steps of their largest one."""
        step = float(np.abs(self.weights).max()) / 127
        rounded = np.round(self.weights / step).astype(np.int8)
        np.savez_compressed(file, weights=rounded, step=np.float32(step), biases=self.biases.astype(np.float32))

    @classmethod
    def load(cls, file: Path) -> "Model":
        """Read the weights."""
        with np.load(file) as stored:
            return cls(stored["weights"].astype(np.float32) * stored["step"], stored["biases"])


def softmax(scores: Matrix) -> Matrix:
    """Return the probabilities of each row's scores."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Matrix = exponentials / exponentials.sum(axis=1, keepdims=True)
    return result
