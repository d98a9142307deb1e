"""Select the backends of an owner. A process loads the clients of servers once somebody has connected one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apps.common.scoping import Owner
from apps.llm.embeddings import Embedder, EmbeddingUnavailable, installation_embedder
from apps.llm.generation import GenerationBackend, get_backend
from apps.llm.models import Connection
from apps.llm.queries import embedding_connection, generation_connection

if TYPE_CHECKING:
    import numpy as np

    from apps.llm.backends.browser import BrowserBackend
    from apps.llm.backends.connected import ConnectedBackend


def backend_for(owner: Owner) -> GenerationBackend:
    """Return the owner's connection for generation, or the built-in backend if there is none."""
    connection = generation_connection(owner)
    return backend_on(connection) if connection else get_backend()


def backend_on(connection: Connection, *, is_urgent: bool = False) -> "BrowserBackend | ConnectedBackend":
    """Return the backend of a connection. ``is_urgent``: a person waits for the reply."""
    if connection.backend == Connection.Backend.BROWSER:
        from apps.llm.backends.browser import BrowserBackend

        return BrowserBackend(connection, is_urgent=is_urgent)
    from apps.llm.backends.connected import ConnectedBackend

    return ConnectedBackend(connection, is_urgent=is_urgent)


def embedder_for(owner: Owner) -> Embedder:
    """Return the owner's connection for embeddings, or the installation's own model. Raise EmbeddingUnavailable."""
    connection = embedding_connection(owner)
    if connection is None:
        return installation_embedder()
    from apps.llm.backends.connected_embedder import ConnectedEmbedder

    return ConnectedEmbedder(connection)


def vectors_if_available(owner: Owner, texts: Sequence[str]) -> "tuple[np.ndarray | None, str]":
    """Return the texts' vectors and the name of their model; None and "" without texts or if no model is available."""
    try:
        embedder = embedder_for(owner) if texts else None
        return (embedder.embed(texts), embedder.model) if embedder else (None, "")
    except EmbeddingUnavailable:
        return None, ""
