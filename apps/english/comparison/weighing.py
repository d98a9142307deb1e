"""Estimate the probability that the newer of two statements replaces the older one, repeats it, or does neither."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from apps.english.comparison.features import ADDED_PREFIX, NEW_PREFIX, PRODUCT, REMOVED_PREFIX, Embed, Pair, features
from apps.english.regression import Regression, fit, read

WEIGHTS = Path(__file__).with_name("weights.json")
# Chosen by cross-validation (docs/weights.md). Vectors and products give many features for few pairs; scaled down, they
# are limited more by the regularisation than the others. The keys are parts of feature names.
L2_STRENGTH = 10.0  # in pairs
SCALE_FACTORS = {NEW_PREFIX: 0.12, ADDED_PREFIX: 0.12, REMOVED_PREFIX: 0.08, PRODUCT: 0.08}


class Comparison(NamedTuple):
    """Probabilities of the three possible verdicts, which add up to 1."""

    superseded: float
    duplicate: float
    passed: float


def compare(pairs: Sequence[tuple[str, str, str]], embed: Embed) -> list[Comparison]:
    """Compare each (older statement, newer one, kind). ``embed`` must be the model that the weights were fitted to."""
    if not pairs:
        return []
    examples = features([Pair(*pair) for pair in pairs], embed)
    return [Comparison(*map(float, row)) for row in _weights().probabilities(examples)]


@cache
def _weights() -> Regression:
    return read(WEIGHTS)


def fit_weights(pairs: Sequence[tuple[str, str, str]], verdicts: Sequence[str], embed: Embed) -> Regression:
    """Fit the weights of the features to labelled pairs; ``verdicts`` are names of Comparison's fields."""
    examples = features([Pair(*pair) for pair in pairs], embed)
    factors = {name: factor for prefix, factor in SCALE_FACTORS.items() for name in examples[0] if prefix in name}
    return fit(examples, [Comparison._fields.index(verdict) for verdict in verdicts], l2=L2_STRENGTH, factors=factors)
