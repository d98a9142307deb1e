"""Judge by learned weights whether a sentence is worth remembering, in any language, and of what kind it is.

The model is a softmax regression on the sentence's features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from apps.builtin.reading.tokens import is_question, size_of
from apps.builtin.worth.buckets import buckets_of

WEIGHTS = Path(__file__).with_name("weights.npz")
# What isn't worth it comes first: small talk, and what isn't so (questions, wishes, conditions, dreams, plays, jokes).
CLASSES = ("none", "unreal", "fact", "relationship", "preference", "event", "development")
WORTHY = CLASSES[2:]
_UNREAL = CLASSES.index("unreal")
LENGTH, USUAL_SIZE = 0.8, 6  # what each doubling of the words of a statement above the usual adds
MAX_EVIDENCE = 6.0
SMOOTHING = 1e-4  # keeps odds finite
MAX_STEPS = 127  # weights are kept as bytes

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Worth:
    """How likely a sentence is worth remembering, as log odds, and the likeliest kind if it is."""

    odds: float
    kind: str


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
        step = float(np.abs(self.weights).max()) / MAX_STEPS
        rounded = np.round(self.weights / step).astype(np.int8)
        np.savez_compressed(file, weights=rounded, step=np.float32(step), biases=self.biases.astype(np.float32))

    @classmethod
    def load(cls, file: Path) -> "Model":
        """Read the weights."""
        with np.load(file) as stored:
            return cls(stored["weights"].astype(np.float32) * stored["step"], stored["biases"])


@lru_cache(maxsize=4096)  # the tasks of a run judge the same sentences
def worth_of(text: str, *, spoken: bool) -> Worth:
    """Return the worth of a sentence; ``spoken`` is False for narration. Questions have none."""
    probabilities = _model().probabilities([buckets_of(text, spoken=spoken)])[0]
    worthy = probabilities[-len(WORTHY) :]
    likelihood = float(worthy.sum())
    odds = math.log((likelihood + SMOOTHING) / (1 - likelihood + SMOOTHING))
    more = math.log2(max(size_of(text), 1) / USUAL_SIZE)
    odds += LENGTH * more * (1 - float(probabilities[_UNREAL]) if more > 0 else 1)  # a long wish is a wish
    if is_question(text):
        odds = -MAX_EVIDENCE
    bounded = max(min(odds, MAX_EVIDENCE), -MAX_EVIDENCE)
    return Worth(bounded, WORTHY[int(worthy.argmax())])


@cache
def _model() -> Model:
    return Model.load(WEIGHTS)


def softmax(scores: Matrix) -> Matrix:
    """Return the probabilities of each row's scores."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Matrix = exponentials / exponentials.sum(axis=1, keepdims=True)
    return result
