"""Compute the network's inputs for messages, and learn its weights from labelled passages."""

from collections.abc import Iterable, Sequence

import numpy as np

from apps.builtin.scene_breaks.features import COMPARED_MESSAGES, SIMILARITY_COUNT, features, similarities
from apps.builtin.scene_breaks.network import Array, Network, train
from apps.builtin.scene_breaks.reading import reading_of
from apps.extraction.tiers.scene_detection import SceneTurn
from apps.llm.embeddings import get_embedder

VECTORS = 4  # number of vectors in a row: of the opening, the first sentence, the message and the one before
DIMENSIONS = 384  # of a vector
COMPONENTS = 128  # number of principal components kept of each vector
VECTOR_SCALE = 20.0  # about the square root of DIMENSIONS: brings vectors to the size of features
MIN_SCALE = 1e-6  # minimum standard deviation of an informative feature


def inputs_of(turns: Sequence[SceneTurn], first_new: int = 1) -> Array:
    """Return a row for each message from ``first_new``, which is at least 1. Raise EmbeddingUnavailable."""
    start = max(first_new - COMPARED_MESSAGES - 1, 0)  # earlier messages are needed for comparison
    readings = [reading_of(turn.text) for turn in turns[start:]]
    texts = {text: None for item in readings for text in (item.opening, item.first_sentence, item.beginning)}
    vector_of = _embed_new(list(texts))
    openings = np.array([vector_of[item.opening] for item in readings])
    sentences = np.array([vector_of[item.first_sentence] for item in readings])
    messages = np.array([vector_of[item.beginning] for item in readings])
    rows = []
    for position in range(first_new, len(turns)):
        i = position - start
        numbers = [
            *features(turns, position).values(),
            *similarities(openings, messages, turns[start:], i).values(),
            openings[i] @ messages[i],
            sentences[i] @ messages[i],
            sentences[i] @ messages[i - 1],
        ]
        rows.append(np.concatenate([numbers, openings[i], sentences[i], messages[i], messages[i - 1]]))
    return np.array(rows)


_latest_vectors: dict[str, Array] = {}  # of the latest call: the next window of a chat begins with the same messages


def _embed_new(texts: Sequence[str]) -> dict[str, Array]:
    vectors = {text: _latest_vectors[text] for text in texts if text in _latest_vectors}
    if missing := [text for text in texts if text not in vectors]:
        vectors |= dict(zip(missing, get_embedder().embed(missing), strict=True))
    _latest_vectors.clear()
    _latest_vectors.update(vectors)
    return vectors


def inputs_without_vectors(turns: Sequence[SceneTurn], first_new: int = 1) -> Array:
    """Return rows in which the values computed from vectors are unknown (NaN)."""
    unknown = [np.nan] * (SIMILARITY_COUNT + 3 + VECTORS * DIMENSIONS)
    return np.array([[*features(turns, position).values(), *unknown] for position in range(first_new, len(turns))])


def learn(passages: Iterable[tuple[Sequence[SceneTurn], frozenset[int]]]) -> Network:
    """Learn from passages with the positions at which scenes begin. Raise EmbeddingUnavailable."""
    labelled = [(turns, starts) for turns, starts in passages if len(turns) > 1]
    inputs = np.vstack([inputs_of(turns) for turns, _ in labelled])
    labels = np.array([float(i in starts) for turns, starts in labelled for i in range(1, len(turns))])
    return train(inputs, labels, projection_of(inputs))


def projection_of(inputs: Array) -> Array:
    """Return the matrix that standardises features and keeps the principal components of each vector."""
    features_end = inputs.shape[1] - VECTORS * DIMENSIONS
    scales = inputs[:, :features_end].std(axis=0)
    projection = np.zeros((inputs.shape[1], features_end + VECTORS * COMPONENTS))
    projection[:features_end, :features_end] = np.diag(1 / np.where(scales < MIN_SCALE, 1.0, scales))
    for number in range(VECTORS):
        start, column = features_end + number * DIMENSIONS, features_end + number * COMPONENTS
        vectors = inputs[:, start : start + DIMENSIONS]
        projection[start : start + DIMENSIONS, column : column + COMPONENTS] = _principal_components(vectors)
    return projection


def _principal_components(vectors: Array) -> Array:
    _, axes = np.linalg.eigh(np.cov(vectors.T))  # in ascending order of variance
    return VECTOR_SCALE * axes[:, ::-1][:, :COMPONENTS]
