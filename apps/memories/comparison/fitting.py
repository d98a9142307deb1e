"""How much each signal tells, learnt from judged pairs. Deterministic."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from apps.memories.comparison.signals import Embed, Pair, signals
from apps.memories.comparison.weighing import Comparison, Weights

STEPS = 3000
STEP = 0.5
SHRINK = 20.0  # the weights' squares count as so many pairs: it keeps rare signals from telling much
DIGITS = 4


def fitted(pairs: Sequence[Pair], verdicts: Sequence[str], embed: Embed) -> Weights:
    """Softmax regression with L2 regularisation, by gradient descent; ``verdicts`` name fields of Comparison."""
    found = signals(pairs, embed)
    names = tuple(found[0])
    values = np.array([[float(one[name]) for name in names] for one in found])
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales[scales == 0] = 1.0
    inputs = np.hstack([(values - means) / scales, np.ones((len(pairs), 1))])
    wanted = np.eye(len(Comparison._fields))[[Comparison._fields.index(verdict) for verdict in verdicts]]
    learnt = _descend(inputs, wanted)
    return Weights(names, means, scales, learnt[:, :-1], learnt[:, -1])


def _descend(inputs: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    learnt = np.zeros((wanted.shape[1], inputs.shape[1]))
    shrink = np.full(learnt.shape, SHRINK / len(inputs))
    shrink[:, -1] = 0
    for _ in range(STEPS):
        scores = inputs @ learnt.T
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong = raised / raised.sum(axis=1, keepdims=True) - wanted
        learnt -= STEP * (wrong.T @ inputs / len(inputs) + shrink * learnt) / 4
    return learnt


def write(weights: Weights, file: Path) -> None:
    kept: dict[str, Any] = {"names": list(weights.names)}
    for name in ("means", "scales", "weights", "biases"):
        kept[name] = np.round(getattr(weights, name), DIGITS).tolist()
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
