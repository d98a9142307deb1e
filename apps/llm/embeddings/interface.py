"""Interface of embedding backends: texts in, unit vectors out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


class EmbeddingUnavailable(RuntimeError):
    """The backend can't compute vectors at present; the message says why."""


class Embedder(Protocol):
    """Embedding backend. ``model`` is stored with every vector: only vectors of one model can be compared.

    ``dimensions`` may be 0 until the first vectors are computed.
    """

    model: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """Return a float32 array of shape (len(texts), dimensions) whose rows have length 1.

        Raise EmbeddingUnavailable.
        """
        ...
