"""Presets of the search: weights of signals and options.

The default was measured on long conversations between people, and on conversations with an assistant whose replies
are ten times as long as the questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ARMS = ("vector", "window_vector", "lexical", "window_lexical")


@dataclass(frozen=True)
class Preset:
    """``weights`` of the signals (see ``ranking``), and options of the arms that find hits.

    ``relative``: each arm is divided by its best hit. ``names_apart``: speakers' names are removed from the query and
    matched as its subject. ``adaptive``: weight moves from words to vectors as ``lead_of_vectors`` says.
    ``whole_share``: share of the whole query's similarity; the rest is that of its best sentence. ``b``: how strongly
    BM25 discounts long texts.
    """

    weights: Mapping[str, float]
    relative: bool = False
    names_apart: bool = False
    adaptive: bool = False
    whole_share: float = 1.0
    words: Literal["bm25", "ts_rank"] = "bm25"
    b: float = 0.3

    @property
    def arms(self) -> list[str]:
        """Return the names of the arms with a weight."""
        return [arm for arm in ARMS if self.weights.get(arm)]


PRESETS = {
    "default": Preset(
        weights={
            "vector": 0.25,
            "window_vector": 0.25,
            "lexical": 0.25,
            "window_lexical": 0.25,
            "subject": 0.25,
            "answer": 0.2,
            "length": 0.2,
            "question": -0.1,
            "recency": 0.05,
            "graph": 0.1,
            "instance": 0.05,
            "importance": 0.05,
            "pinned": 0.05,
            "session": 0.4,
        },
        relative=True,
        names_apart=True,
        adaptive=True,
        whole_share=0.5,
        b=0.75,
    ),
    # The published formula of entity-core, with the best of up to five sentences.
    "seed": Preset(
        weights={"vector": 0.8, "recency": 0.05, "graph": 0.05, "instance": 0.1},
        whole_share=0.0,
    ),
    "dense": Preset(weights={"vector": 1.0}),
    "bm25": Preset(weights={"lexical": 1.0}),
    "ts_rank": Preset(weights={"lexical": 1.0}, words="ts_rank"),
}
