"""Hybrid search of memories, messages and the journal. Each result carries the signals behind its score."""
