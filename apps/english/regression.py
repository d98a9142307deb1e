"""Softmax regression on named signals: fit, keep as JSON, and predict. Pure except for its files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 150
DIGITS = 4  # significant digits of stored weights
MIN_SCALE = 1e-6  # minimum standard deviation of an informative signal

Signals = Mapping[str, float]


@dataclass(frozen=True)
class Regression:
    """Weights of the signals: a row for each class, a column for each name of a signal; signals are standardised by
    ``means`` and ``scales``."""

    names: tuple[str, ...]
    means: np.ndarray[Any, Any]
    scales: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    biases: np.ndarray[Any, Any]

    def likelihoods(self, found: Sequence[Signals]) -> np.ndarray[Any, Any]:
        """Return a row for each example and a column for each class. Each row adds up to 1."""
        values = np.array([[float(one[name]) for name in self.names] for one in found])
        return _softmax((values - self.means) / self.scales @ self.weights.T + self.biases)


def read(file: Path) -> Regression:
    kept = json.loads(file.read_text(encoding="utf-8"))
    arrays = (np.array(kept[name]) for name in ("means", "scales", "weights", "biases"))
    return Regression(tuple(kept["names"]), *arrays)


def write(regression: Regression, file: Path) -> None:
    kept: dict[str, Any] = {"names": list(regression.names)}
    for name in ("means", "scales", "weights", "biases"):
        kept[name] = _rounded(getattr(regression, name).tolist())
    file.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def _rounded(values: Any) -> Any:
    return [_rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.{DIGITS}g}")


def fitted(
    found: Sequence[Signals], classes: Sequence[int], *, shrink: float, shares: Mapping[str, float] | None = None
) -> Regression:
    """Learn from examples of the classes 0, 1, … by gradient descent; the same examples give the same weights.

    ``shrink`` is the weight of the L2 regularisation, in examples: it limits the weights of rare signals. ``shares``
    scale some signals down, below 1, so that the regularisation limits them more.
    """
    names = tuple(found[0])
    values = np.array([[float(one[name]) for name in names] for one in found])
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales[scales < MIN_SCALE] = 1.0
    scales /= [(shares or {}).get(name, 1.0) for name in names]
    inputs = np.hstack([(values - means) / scales, np.ones((len(found), 1))])
    learnt = _descend(inputs, np.eye(max(classes) + 1)[list(classes)], shrink / len(found))
    return Regression(names, means, scales, learnt[:, :-1], learnt[:, -1])


def _descend(inputs: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], shrink: float) -> np.ndarray[Any, Any]:
    """Descend with Nesterov's momentum. The step is the largest that is safe: the loss bends no more than half the
    largest eigenvalue of the inputs' covariance, and the regularisation."""
    step = 1 / (np.linalg.eigvalsh(inputs.T @ inputs / len(inputs))[-1] / 2 + shrink)
    learnt = ahead = np.zeros((wanted.shape[1], inputs.shape[1]))
    shrinks = np.full(learnt.shape, shrink)
    shrinks[:, -1] = 0
    for number in range(STEPS):
        wrong = _softmax(inputs @ ahead.T) - wanted
        before, learnt = learnt, ahead - step * (wrong.T @ inputs / len(inputs) + shrinks * ahead)
        ahead = learnt + number / (number + 3) * (learnt - before)
    return learnt


def _softmax(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
