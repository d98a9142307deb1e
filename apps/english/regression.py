"""Softmax regression on named features: fit, keep as JSON, and predict. Without database access."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 150
DIGITS = 4  # significant digits of stored weights
MIN_SCALE = 1e-6  # minimum standard deviation of an informative feature

Features = Mapping[str, float]


@dataclass(frozen=True)
class Regression:
    """Fitted model. ``weights`` have a row for each class and a column for each feature in ``names``; features are
    standardised by ``means`` and ``scales``."""

    names: tuple[str, ...]
    means: np.ndarray[Any, Any]
    scales: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    biases: np.ndarray[Any, Any]

    def probabilities(self, examples: Sequence[Features]) -> np.ndarray[Any, Any]:
        """Return a row for each example and a column for each class; each row adds up to 1."""
        values = np.array([[float(example[name]) for name in self.names] for example in examples])
        return _softmax((values - self.means) / self.scales @ self.weights.T + self.biases)


def read(file: Path) -> Regression:
    stored = json.loads(file.read_text(encoding="utf-8"))
    arrays = (np.array(stored[name]) for name in ("means", "scales", "weights", "biases"))
    return Regression(tuple(stored["names"]), *arrays)


def write(regression: Regression, file: Path) -> None:
    stored: dict[str, Any] = {"names": list(regression.names)}
    for name in ("means", "scales", "weights", "biases"):
        stored[name] = _rounded(getattr(regression, name).tolist())
    file.write_text(json.dumps(stored) + "\n", encoding="utf-8")


def _rounded(values: Any) -> Any:
    return [_rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.{DIGITS}g}")


def fit(
    examples: Sequence[Features], classes: Sequence[int], *, l2: float, factors: Mapping[str, float] | None = None
) -> Regression:
    """Fit a model to examples of the classes 0, 1, … by gradient descent; the same examples give the same weights.

    ``l2`` is the strength of the L2 regularisation, in examples; it limits the weights of rare features.
    ``factors`` below 1 scale features down, so that the regularisation limits them more.
    """
    names = tuple(examples[0])
    values = np.array([[float(example[name]) for name in names] for example in examples])
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales[scales < MIN_SCALE] = 1.0
    scales /= [(factors or {}).get(name, 1.0) for name in names]
    inputs = np.hstack([(values - means) / scales, np.ones((len(examples), 1))])
    weights = _descend(inputs, np.eye(max(classes) + 1)[list(classes)], l2 / len(examples))
    return Regression(names, means, scales, weights[:, :-1], weights[:, -1])


def _descend(inputs: np.ndarray[Any, Any], targets: np.ndarray[Any, Any], l2: float) -> np.ndarray[Any, Any]:
    """Minimise the loss by gradient descent with Nesterov's momentum."""
    # The largest step size that is sure to converge: 1 divided by an upper bound of the loss's curvature.
    step_size = 1 / (np.linalg.eigvalsh(inputs.T @ inputs / len(inputs))[-1] / 2 + l2)
    weights = lookahead = np.zeros((targets.shape[1], inputs.shape[1]))
    decay = np.full(weights.shape, l2)
    decay[:, -1] = 0
    for iteration in range(STEPS):
        errors = _softmax(inputs @ lookahead.T) - targets
        previous, weights = weights, lookahead - step_size * (errors.T @ inputs / len(inputs) + decay * lookahead)
        lookahead = weights + iteration / (iteration + 3) * (weights - previous)
    return weights


def _softmax(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)
