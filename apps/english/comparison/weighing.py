"""How likely the newer of two statements replaces the older one, repeats it, or neither."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from apps.english.comparison.signals import BOTH, LOST, MEANING, NEWS, Embed, Pair, signals
from apps.english.regression import Regression, fitted, read

FILE = Path(__file__).with_name("weights.json")
# By cross-validation (docs/weights.md). Vectors and products have many numbers, and the pairs are few: they are scaled
# down, so that the regularisation holds them back more than the other signals.
SHRINK = 10.0  # pairs
SHARES = {MEANING: 0.12, NEWS: 0.12, LOST: 0.08, BOTH: 0.08}


class Comparison(NamedTuple):
    """Likelihoods, 0 to 1, that add up to 1."""

    superseded: float
    duplicate: float
    passed: float


def compare(pairs: Sequence[tuple[str, str, str]], embed: Embed) -> list[Comparison]:
    """Compare each (older statement, newer one, kind). ``embed`` must be the model that the weights were fitted to."""
    if not pairs:
        return []
    found = signals([Pair(*pair) for pair in pairs], embed)
    return [Comparison(*map(float, row)) for row in _weights().likelihoods(found)]


@cache
def _weights() -> Regression:
    return read(FILE)


def learn(pairs: Sequence[tuple[str, str, str]], verdicts: Sequence[str], embed: Embed) -> Regression:
    """Learn how much each signal tells; ``verdicts`` name fields of Comparison."""
    found = signals([Pair(*pair) for pair in pairs], embed)
    shares = {name: share for part, share in SHARES.items() for name in found[0] if part in name}
    return fitted(found, [Comparison._fields.index(verdict) for verdict in verdicts], shrink=SHRINK, shares=shares)
