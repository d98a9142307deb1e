"""Train and evaluate a small neural network with numpy: one hidden layer, and a linear path around it. Pure."""

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
DROPOUT = 0.5  # share of inputs left out at random in training

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Network:
    """``means`` are the inputs' means, used where an input is unknown (NaN)."""

    means: Array
    hidden: Array
    hidden_bias: Array
    output: Array
    linear: Array
    bias: Array

    def likelihoods(self, inputs: Array) -> Array:
        centred = np.where(np.isnan(inputs), 0.0, inputs - self.means)
        scores = np.tanh(centred @ self.hidden + self.hidden_bias) @ self.output + centred @ self.linear + self.bias
        return _sigmoid(scores)

    def save(self, file: Path) -> None:
        kept: dict[str, Any] = {name: np.asarray(value, np.float32) for name, value in vars(self).items()}
        with file.open("wb") as out:
            np.savez_compressed(out, **kept)

    @classmethod
    def load(cls, file: Path) -> "Network":
        with np.load(file, allow_pickle=False) as kept:
            return cls(**{name: kept[name].astype(np.float64) for name in kept.files})


def train(inputs: Array, wanted: Array, basis: Array) -> Network:
    """Learn from rows of ``inputs``, each labelled 0 or 1. ``basis`` projects centred inputs to those of the network.

    The mean of several networks equals one wider network, which is returned.
    """
    means = inputs.mean(axis=0)
    projected = (inputs - means) @ basis
    members = [_train_one(projected, wanted, seed) for seed in range(ENSEMBLE_SIZE)]
    hidden, hidden_bias, output, linear, bias = zip(*members, strict=True)
    return Network(
        means=means,
        hidden=basis @ np.hstack(hidden),
        hidden_bias=np.concatenate(hidden_bias),
        output=np.concatenate(output) / ENSEMBLE_SIZE,
        linear=basis @ np.mean(linear, axis=0),
        bias=np.mean(bias, axis=0),
    )


def _train_one(inputs: Array, wanted: Array, seed: int) -> list[Array]:
    """Minimise the cross entropy with Adam."""
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
            for number, slope in enumerate(_gradients(weights, kept, wanted[rows])):
                mean[number] = 0.9 * mean[number] + 0.1 * slope
                square[number] = 0.999 * square[number] + 0.001 * slope**2
                size_of_step = LEARNING_RATE * (1 - epoch / EPOCHS) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                weights[number] = weights[number] - size_of_step * mean[number] / (np.sqrt(square[number]) + 1e-8)
    return weights


def _gradients(weights: list[Array], inputs: Array, wanted: Array) -> list[Array]:
    hidden_weights, hidden_bias, output, linear, bias = weights
    hidden = np.tanh(inputs @ hidden_weights + hidden_bias)
    wrong = (_sigmoid(hidden @ output + inputs @ linear + bias) - wanted) / len(inputs)
    back = np.outer(wrong, output) * (1 - hidden**2)
    return [
        inputs.T @ back + WEIGHT_DECAY * hidden_weights,
        back.sum(axis=0),
        hidden.T @ wrong + WEIGHT_DECAY * output,
        inputs.T @ wrong + WEIGHT_DECAY * linear,
        wrong.sum(),
    ]


def _sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -60, 60)))
