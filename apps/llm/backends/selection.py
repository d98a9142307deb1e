"""Select the backends of an owner."""

from collections.abc import Callable

from apps.common.scoping import Owner
from apps.llm.backends.browser import BrowserBackend
from apps.llm.backends.connected import ConnectedBackend, ConnectedEmbedder
from apps.llm.embeddings import Embedder, get_embedder
from apps.llm.generation import GenerationBackend, get_backend
from apps.llm.models import Connection
from apps.llm.queries import embedding_connection, generation_connection
from apps.llm.tokens import token_counter


def backend_for(owner: Owner) -> GenerationBackend:
    """Return the owner's connection for generation, or the built-in backend if there is none."""
    connection = generation_connection(owner)
    return backend_on(connection) if connection else get_backend()


def backend_on(connection: Connection, *, is_urgent: bool = False) -> BrowserBackend | ConnectedBackend:
    """Return the backend of a connection. ``is_urgent``: a person waits for the reply."""
    if connection.backend == Connection.Backend.BROWSER:
        return BrowserBackend(connection, is_urgent=is_urgent)
    return ConnectedBackend(connection, is_urgent=is_urgent)


def embedder_for(owner: Owner) -> Embedder:
    """Return the owner's connection for embeddings, or the local model. Raise EmbeddingUnavailable."""
    connection = embedding_connection(owner)
    return ConnectedEmbedder(connection) if connection else get_embedder()


def token_counter_for(owner: Owner) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text for the model of the owner's connection for generation."""
    connection = generation_connection(owner)
    return token_counter(connection.model if connection else "")
