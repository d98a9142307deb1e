"""What a process that serves requests does before the first one."""

import gc
from contextlib import suppress

from django.urls import get_resolver

from apps.llm.embeddings import EmbeddingUnavailable, get_embedder


def warm_up() -> None:
    """Load the routes and the embedding model, and keep the garbage collector from visiting what is loaded.

    Each full collection took 0.1 seconds, in which no request went on.
    """
    _ = get_resolver().url_patterns
    with suppress(EmbeddingUnavailable):  # said where it is needed
        get_embedder()
    gc.freeze()
