"""Generation backends: the built-in one, and the servers that users connect."""

from apps.llm.backends.selection import backend_for, embedder_for

__all__ = ["backend_for", "embedder_for"]
