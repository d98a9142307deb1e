"""Embedding backends: the interface, and the model that runs on this machine."""

from apps.llm.embeddings.interface import Embedder, EmbeddingUnavailable

__all__ = ["Embedder", "EmbeddingUnavailable", "get_embedder"]


def get_embedder() -> Embedder:
    """Return this process's local embedder, which loads numpy and onnxruntime. Raise EmbeddingUnavailable."""
    from apps.llm.embeddings import local

    return local.get_embedder()
