"""Finds memories and messages by meaning and by words, and says for each why it was found."""

from apps.memories.search.presets import PRESETS
from apps.memories.search.service import SearchQuery, SearchReply, SearchResult, search

__all__ = ["PRESETS", "SearchQuery", "SearchReply", "SearchResult", "search"]
