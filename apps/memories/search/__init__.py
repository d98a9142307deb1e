"""Hybrid search of memories, messages and the journal. Each result carries the signals behind its score."""

from apps.memories.search.presets import PRESETS
from apps.memories.search.ranking import RankedHit
from apps.memories.search.service import (
    NO_VECTORS,
    QueryVectors,
    SearchQuery,
    SearchResponse,
    SearchResult,
    find,
    load,
    search,
)

__all__ = [
    "NO_VECTORS",
    "PRESETS",
    "QueryVectors",
    "RankedHit",
    "SearchQuery",
    "SearchResponse",
    "SearchResult",
    "find",
    "load",
    "search",
]
