"""Compute the network's inputs for messages: features, and vectors of their parts."""

from collections.abc import Sequence

import numpy as np

from apps.builtin.scene_breaks.features import COMPARED_MESSAGES, SIMILARITY_COUNT, features, similarities
from apps.builtin.scene_breaks.network import Array
from apps.builtin.scene_breaks.parts import parts_of
from apps.extraction.steps.scene_detection import SceneTurn
from apps.llm.embeddings import get_embedder

VECTORS = 4  # number of vectors in a row: of the opening, the first sentence, the message and the one before
DIMENSIONS = 384  # of a vector


def inputs_of(turns: Sequence[SceneTurn], first_new: int = 1) -> Array:
    """Return a row for each message from ``first_new``, which is at least 1. Raise EmbeddingUnavailable."""
    start = max(first_new - COMPARED_MESSAGES - 1, 0)  # earlier messages are needed for comparison
    readings = [parts_of(turn.text) for turn in turns[start:]]
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
