"""Which backend serves an owner."""

from typing import Any

from apps.llm.connected import ConnectedBackend, ConnectedEmbedder
from apps.llm.embeddings import Embedder, get_embedder
from apps.llm.generation import GenerationBackend, get_backend
from apps.llm.models import Connection


def backend_for(owner: Any) -> GenerationBackend:
    """The connection that the owner, a user or the id of one, uses for generation; else the built-in backend."""
    connection = Connection.objects.for_owner(owner).filter(for_generation=True).first()
    return ConnectedBackend(connection) if connection else get_backend()


def embedder_for(owner: Any) -> Embedder:
    """The connection that the owner uses for embeddings; else this machine's model. Raises EmbeddingUnavailable."""
    connection = Connection.objects.for_owner(owner).filter(for_embeddings=True).first()
    return ConnectedEmbedder(connection) if connection else get_embedder()
