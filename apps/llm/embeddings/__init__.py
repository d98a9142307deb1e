"""Embedding backends: the interface, and the model that runs on this machine."""

from apps.llm.embeddings.interface import Embedder, EmbeddingUnavailable
from apps.llm.embeddings.local import get_embedder

__all__ = ["Embedder", "EmbeddingUnavailable", "get_embedder"]
