"""Hybrid search of memories and messages. Each result carries the signals behind its score."""

from apps.memories.search.presets import PRESETS
from apps.memories.search.service import SearchQuery, SearchResponse, SearchResult, search

__all__ = ["PRESETS", "SearchQuery", "SearchResponse", "SearchResult", "search"]
