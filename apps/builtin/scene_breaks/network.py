"""Small neural network in numpy, with one hidden layer and a linear path around it. Without database access."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN_UNITS = 16
ENSEMBLE_SIZE = 6  # networks trained from different starts; their mean varies less than each of them
EPOCHS = 40
BATCH_SIZE = 128
LEARNING_RATE = 0.003
WEIGHT_DECAY = 0.002  # weight of the L2 regularisation
DROPOUT = 0.3  # share of inputs left out at random in training

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
        return _sigmoid(scores)

    def save(self, file: Path) -> None:
        """Write the weights in half precision, which changes no likelihood by more than 0.001."""
        arrays: dict[str, Any] = {name: np.asarray(value, np.float16) for name, value in vars(self).items()}
        with file.open("wb") as out:
            np.savez_compressed(out, **arrays)

    @classmethod
    def load(cls, file: Path) -> "Network":
        with np.load(file, allow_pickle=False) as arrays:
            return cls(**{name: arrays[name].astype(np.float64) for name in arrays.files})


def train(inputs: Array, labels: Array, projection: Array) -> Network:
    """Learn from rows of ``inputs`` with the labels 0 and 1. ``projection`` reduces centred rows before the training.

    The mean of several networks equals one wider network, which is returned.
    """
    means = inputs.mean(axis=0)
    projected = (inputs - means) @ projection
    members = [_train_one(projected, labels, seed) for seed in range(ENSEMBLE_SIZE)]
    hidden, hidden_bias, output, linear, bias = zip(*members, strict=True)
    return Network(
        means=means,
        hidden=projection @ np.hstack(hidden),
        hidden_bias=np.concatenate(hidden_bias),
        output=np.concatenate(output) / ENSEMBLE_SIZE,
        linear=projection @ np.mean(linear, axis=0),
        bias=np.mean(bias, axis=0),
    )


def _train_one(inputs: Array, labels: Array, seed: int) -> list[Array]:
    """Return the weights that minimise the cross entropy, found with Adam."""
    random = np.random.default_rng(seed)
    size = inputs.shape[1]
    weights: list[Array] = [
        random.normal(size=(size, HIDDEN_UNITS)) / np.sqrt(size),
        np.zeros(HIDDEN_UNITS),
        random.normal(size=HIDDEN_UNITS) / np.sqrt(HIDDEN_UNITS),
        np.zeros(size),
        np.array(-1.0),
    ]
    mean, square = [np.zeros_like(one) for one in weights], [np.zeros_like(one) for one in weights]
    step = 0
    for epoch in range(EPOCHS):
        order = random.permutation(len(inputs))
        for start in range(0, len(order), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            kept = inputs[rows] * (random.random((len(rows), size)) > DROPOUT) / (1 - DROPOUT)
            step += 1
            for number, gradient in enumerate(_gradients(weights, kept, labels[rows])):
                mean[number] = 0.9 * mean[number] + 0.1 * gradient
                square[number] = 0.999 * square[number] + 0.001 * gradient**2
                step_size = LEARNING_RATE * (1 - epoch / EPOCHS) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                weights[number] = weights[number] - step_size * mean[number] / (np.sqrt(square[number]) + 1e-8)
    return weights


def _gradients(weights: list[Array], inputs: Array, labels: Array) -> list[Array]:
    hidden_weights, hidden_bias, output, linear, bias = weights
    hidden = np.tanh(inputs @ hidden_weights + hidden_bias)
    errors = (_sigmoid(hidden @ output + inputs @ linear + bias) - labels) / len(inputs)
    back = np.outer(errors, output) * (1 - hidden**2)
    return [
        inputs.T @ back + WEIGHT_DECAY * hidden_weights,
        back.sum(axis=0),
        hidden.T @ errors + WEIGHT_DECAY * output,
        inputs.T @ errors + WEIGHT_DECAY * linear,
        errors.sum(),
    ]


def _sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -60, 60)))
