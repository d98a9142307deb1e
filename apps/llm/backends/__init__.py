"""Generation backends: the built-in one, the servers that users connect, and models in the browser."""

from apps.llm.backends.selection import backend_for, backend_on, embedder_for, vectors_if_available

__all__ = ["backend_for", "backend_on", "embedder_for", "vectors_if_available"]
