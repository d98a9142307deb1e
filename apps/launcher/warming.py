"""What a process that serves requests does before the first one."""

import gc
import time
from contextlib import suppress

from django.urls import get_resolver

from apps.common.heap import give_back
from apps.llm.embeddings import EmbeddingUnavailable, installation_embedder

GIVE_BACK_INTERVAL = 60  # seconds


def warm_up() -> None:
    """Load the routes and the embedding model, and keep the garbage collector from visiting what is loaded.

    Each full collection took 0.1 seconds, in which no request went on.
    """
    _ = get_resolver().url_patterns
    with suppress(EmbeddingUnavailable):  # said where it is needed
        installation_embedder()
    gc.freeze()


def keep_small() -> None:
    """Give back what requests have freed, once a minute for as long as the process runs."""
    while True:
        time.sleep(GIVE_BACK_INTERVAL)
        give_back()
