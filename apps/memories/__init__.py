"""Memories and layers, the verdicts on new candidates, the search index, search, and the memory book."""
