"""Presets of the search: weights of signals and options. A retriever is one way to find hits.

The default was measured on long conversations between people, and on conversations with an assistant whose replies
are ten times as long as the questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

RETRIEVERS = ("vector", "window_vector", "lexical", "window_lexical")  # by vectors or words, of a text or its window


@dataclass(frozen=True)
class SearchPreset:
    """``weights`` of the signals (see ``ranking``), and options of the retrievers that find hits.

    ``relative``: each retriever is divided by its best hit. ``separate_names``: speakers' names are removed from the
    query and matched as its subject. ``adaptive``: weight moves from words to vectors by ``vector_preference``.
    ``whole_query_share``: weight of the whole query's similarity; the rest is that of its best sentence.
    ``time_weight``: weight of the signal ``time`` where the query asks about one.
    ``word_score``: how words are scored. ``b``: how strongly BM25 discounts long texts.
    """

    weights: Mapping[str, float]
    relative: bool = False
    separate_names: bool = False
    adaptive: bool = False
    whole_query_share: float = 1.0
    time_weight: float = 0.0
    word_score: Literal["bm25", "ts_rank"] = "bm25"
    b: float = 0.3

    @property
    def retrievers(self) -> list[str]:
        """Return the names of the retrievers with a weight."""
        return [name for name in RETRIEVERS if self.weights.get(name)]

    def with_time(self) -> "SearchPreset":
        """Return the preset for a query that asks about a time."""
        return replace(self, weights={**self.weights, "time": self.time_weight})


PRESETS = {
    "default": SearchPreset(
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
        separate_names=True,
        adaptive=True,
        whole_query_share=0.5,
        time_weight=0.25,
        b=0.75,
    ),
    # The published formula of entity-core, with the best of up to five sentences.
    "seed": SearchPreset(
        weights={"vector": 0.8, "recency": 0.05, "graph": 0.05, "instance": 0.1}, whole_query_share=0.0
    ),
    "dense": SearchPreset(weights={"vector": 1.0}),
    "bm25": SearchPreset(weights={"lexical": 1.0}),
    "ts_rank": SearchPreset(weights={"lexical": 1.0}, word_score="ts_rank"),
}

# What the default becomes where the query is a running dialogue: its meaning leads, and who talks is who it is about.
DIALOGUE = SearchPreset(
    weights={
        "vector": 0.5,
        "window_vector": 0.5,
        "lexical": 0.1,
        "window_lexical": 0.1,
        "subject": 0.3,
        "recency": 0.05,
        "graph": 0.1,
        "instance": 0.05,
        "importance": 0.05,
        "pinned": 0.05,
    },
    relative=True,
    separate_names=True,
    whole_query_share=0.6,
    b=0.75,
)
