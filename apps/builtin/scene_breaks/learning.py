"""Assemble the network's inputs for messages, and learn its weights from labelled passages."""

from collections.abc import Iterable, Sequence

import numpy as np

from apps.builtin.scene_breaks.network import Array, Network, train
from apps.builtin.scene_breaks.reading import reading_of
from apps.builtin.scene_breaks.signals import NEAR, nearness, signals
from apps.extraction.stages.scene_detection import SceneTurn
from apps.llm.embeddings import get_embedder

OPENING_AXES, END_AXES = 128, 64  # number of principal components kept of each vector
VECTOR_SCALE = 20.0  # about the square root of the number of dimensions: brings vectors to the size of signals
DIMENSIONS = 384
NEARNESSES = 5
MIN_SCALE = 1e-6  # minimum standard deviation of an informative signal


def inputs_of(turns: Sequence[SceneTurn], first: int = 1) -> Array:
    """Return a row for each message from ``first``, which is at least 1. Raise EmbeddingUnavailable."""
    start = max(first - NEAR - 1, 0)  # earlier messages are needed for comparison
    readings = [reading_of(turn.text) for turn in turns[start:]]
    texts = list(dict.fromkeys([one.opening for one in readings] + [one.end for one in readings[:-1]]))
    vectors = _vectors_of(texts)
    openings = np.array([vectors[one.opening] for one in readings])
    ends = np.array([vectors[one.end] for one in readings[:-1]])
    rows = []
    for position in range(first, len(turns)):
        place = position - start
        near = nearness(openings, ends, turns[start:], place)
        told = [*signals(turns, position).values(), *near.values()]
        rows.append(np.concatenate([told, openings[place], ends[place - 1]]))
    return np.array(rows)


_recent: dict[str, Array] = {}  # vectors of the last call, since the next window of a chat reuses those at its end


def _vectors_of(texts: Sequence[str]) -> dict[str, Array]:
    known = {text: _recent[text] for text in texts if text in _recent}
    if missing := [text for text in texts if text not in known]:
        known |= dict(zip(missing, get_embedder().embed(missing), strict=True))
    _recent.clear()
    _recent.update(known)
    return known


def inputs_without_vectors(turns: Sequence[SceneTurn], first: int = 1) -> Array:
    """Return rows in which the values computed from vectors are unknown (NaN)."""
    unknown = [np.nan] * (NEARNESSES + 2 * DIMENSIONS)
    return np.array([[*signals(turns, position).values(), *unknown] for position in range(first, len(turns))])


def learn(passages: Iterable[tuple[Sequence[SceneTurn], frozenset[int]]]) -> Network:
    """Learn from passages with the positions at which scenes begin. Raise EmbeddingUnavailable."""
    told = [(turns, starts) for turns, starts in passages if len(turns) > 1]
    inputs = np.vstack([inputs_of(turns) for turns, _ in told])
    wanted = np.array([float(place in starts) for turns, starts in told for place in range(1, len(turns))])
    return train(inputs, wanted, basis_of(inputs))


def basis_of(inputs: Array) -> Array:
    """Return the matrix that standardises signals and keeps the principal components of both vectors."""
    signals_end = inputs.shape[1] - 2 * DIMENSIONS
    scales = inputs[:, :signals_end].std(axis=0)
    openings, ends = inputs[:, signals_end:-DIMENSIONS], inputs[:, -DIMENSIONS:]
    basis = np.zeros((inputs.shape[1], signals_end + OPENING_AXES + END_AXES))
    basis[:signals_end, :signals_end] = np.diag(1 / np.where(scales < MIN_SCALE, 1.0, scales))
    basis[signals_end:-DIMENSIONS, signals_end : signals_end + OPENING_AXES] = _axes(openings, OPENING_AXES)
    basis[-DIMENSIONS:, signals_end + OPENING_AXES :] = _axes(ends, END_AXES)
    return basis


def _axes(vectors: Array, count: int) -> Array:
    _, axes = np.linalg.eigh(np.cov(vectors.T))  # in ascending order
    return VECTOR_SCALE * axes[:, ::-1][:, :count]
