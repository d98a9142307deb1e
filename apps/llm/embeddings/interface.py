"""Interface of embedding backends: texts in, unit vectors out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

# The models that run inside Loci, as they are stored with vectors.
MINILM, E5 = "all-MiniLM-L6-v2", "multilingual-e5-small"
LOCAL_MODELS = {"minilm": MINILM, "multilingual": E5}  # by the value of EMBEDDING_MODEL


class EmbeddingUnavailable(RuntimeError):
    """The backend can't compute vectors at present; the message says why."""


class Embedder(Protocol):
    """Embedding backend. ``model`` is stored with every vector: only vectors of one model can be compared.

    ``dimensions`` may be 0 until the first vectors are computed.
    """

    model: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """Return a float32 array of shape (len(texts), dimensions) whose rows have length 1, for texts to be stored.

        Raise EmbeddingUnavailable.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> "np.ndarray":
        """Return the same for texts that stored ones are searched for. Raise EmbeddingUnavailable."""
        ...
