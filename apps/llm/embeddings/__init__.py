"""Embedding backends: the interface, and the models that run on this machine."""

from django.conf import settings

from apps.llm.embeddings.interface import E5, LOCAL_MODELS, Embedder, EmbeddingUnavailable

__all__ = [
    "LOCAL_MODELS",
    "Embedder",
    "EmbeddingUnavailable",
    "get_embedder",
    "installation_embedder",
    "installation_model",
]


def get_embedder() -> Embedder:
    """Return this process's all-MiniLM-L6-v2, which loads numpy and onnxruntime. Raise EmbeddingUnavailable.

    The learned weights (docs/weights.md) were fitted with its vectors, whatever the installation searches with.
    """
    from apps.llm.embeddings import local

    return local.get_embedder()


def installation_model() -> str:
    """Return the name of the model that the installation searches with, without loading it."""
    return LOCAL_MODELS.get(settings.EMBEDDING_MODEL, "")


def installation_embedder() -> Embedder:
    """Return this process's embedder of the model that EMBEDDING_MODEL names. Raise EmbeddingUnavailable."""
    if installation_model() != E5:
        return get_embedder()
    from apps.llm.embeddings import multilingual

    return multilingual.get_embedder()
