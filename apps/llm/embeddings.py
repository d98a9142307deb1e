"""What an embedding backend is: texts in, unit vectors out."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from apps.llm.local_embeddings import EmbeddingUnavailable, get_local_embedder

__all__ = ["Embedder", "EmbeddingUnavailable", "get_embedder"]


class Embedder(Protocol):
    """``model`` is stored with every vector: only vectors of one model can be compared.

    ``dimensions`` may be 0 until the first vectors were made.
    """

    model: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """An array of float32 of shape (len(texts), dimensions), its rows of length 1.

        Raises EmbeddingUnavailable.
        """
        ...


def get_embedder() -> Embedder:
    """The local embedder of this process. Raises EmbeddingUnavailable."""
    return get_local_embedder()
