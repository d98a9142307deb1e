"""Tell whether a sentence is worth remembering, and of what kind it is."""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from apps.builtin.questions import is_question
from apps.builtin.worth.features import buckets_of, size_of
from apps.builtin.worth.model import Model

WEIGHTS = Path(__file__).with_name("weights.npz")
# What isn't worth it comes first: small talk, and what isn't so (questions, wishes, conditions, dreams, plays, jokes).
CLASSES = ("none", "unreal", "fact", "relationship", "preference", "event", "development")
WORTHY = CLASSES[2:]
LENGTH, USUAL_SIZE = 0.8, 6  # what each doubling of the words of a statement above the usual adds
MAX_EVIDENCE = 6.0


@dataclass(frozen=True)
class Worth:
    """How likely a sentence is worth remembering, as log odds, and the likeliest kind if it is."""

    odds: float
    kind: str


@lru_cache(maxsize=4096)  # the tasks of a run judge the same sentences
def worth_of(text: str, *, spoken: bool) -> Worth:
    """Return the worth of a sentence; ``spoken`` is False for narration. Questions have none."""
    probabilities = _model().probabilities([buckets_of(text, spoken=spoken)])[0]
    worthy = probabilities[2:]
    likelihood = float(worthy.sum())
    odds = math.log((likelihood + 1e-4) / (1 - likelihood + 1e-4))
    more = math.log2(max(size_of(text), 1) / USUAL_SIZE)
    odds += LENGTH * more * (1 - float(probabilities[1]) if more > 0 else 1)  # a long wish is a wish
    if is_question(text):
        odds = -MAX_EVIDENCE
    bounded = max(min(odds, MAX_EVIDENCE), -MAX_EVIDENCE)
    return Worth(bounded, WORTHY[int(worthy.argmax())])


@cache
def _model() -> Model:
    return Model.load(WEIGHTS)
