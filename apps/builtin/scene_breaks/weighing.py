"""How likely each message begins a scene: the rules' cues and the meaning of its opening, weighed."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from apps.builtin.scene_breaks.signals import opening_of, signals
from apps.builtin.scene_breaks.turns import Turn
from apps.english.regression import Regression, fitted, read
from apps.llm.embeddings import get_embedder

FILE = Path(__file__).with_name("weights.json")
SHRINK = 100.0  # messages


def likelihoods(turns: Sequence[Turn], first: int = 1) -> list[float]:
    """For each message from position ``first``, 0 to 1; 0 for those before, for the very first, and for those that
    narrate nothing. Raises EmbeddingUnavailable."""
    found = _signals(turns, first)
    likely = [0.0] * len(turns)
    if found:
        for position, row in zip(found, _weights().likelihoods(list(found.values())), strict=True):
            likely[position] = float(row[1])
    return likely


def _signals(turns: Sequence[Turn], first: int = 1) -> dict[int, dict[str, float]]:
    """Of each message from ``first`` that narrates something, by its position."""
    openings = {position: opening_of(turns, position) for position in range(max(first, 1), len(turns))}
    told = {position: opening for position, opening in openings.items() if opening}
    if not told:
        return {}
    vectors: np.ndarray = get_embedder().embed(list(told.values()))
    return {position: signals(turns, position, vector.tolist()) for position, vector in zip(told, vectors, strict=True)}


@cache
def _weights() -> Regression:
    return read(FILE)


def learn(passages: Sequence[tuple[Sequence[Turn], frozenset[int]]]) -> Regression:
    """How much each signal tells, from passages with the positions at which scenes begin. Raises
    EmbeddingUnavailable."""
    found: list[dict[str, float]] = []
    begin: list[int] = []
    for turns, starts in passages:
        for position, one in _signals(turns).items():
            found.append(one)
            begin.append(int(position in starts))
    return fitted(found, begin, shrink=SHRINK)
