"""What a connection leads to: its server asked for models, and tested."""

import time
from dataclasses import dataclass, field

from apps.llm.connected import ConnectedBackend, ConnectedEmbedder, dialect_of, endpoint_of
from apps.llm.generation import GenerationFailed, GenerationRequest, Watch, unwatched
from apps.llm.local_embeddings import EmbeddingUnavailable
from apps.llm.models import Connection
from apps.llm.operations import note_check

GREETING = GenerationRequest(
    "connection_test", [{"role": "user", "content": "Reply with the one word “ready”."}], max_tokens=64
)
MAX_MODELS = 2000  # that a list shows
MAX_REPLY = 200  # characters of the reply to the greeting


@dataclass(frozen=True)
class Check:
    """What a test found. ``seconds`` is how long the model took for ``reply``, ``dimensions`` its vectors' length."""

    ok: bool
    error: str = ""
    models: list[str] = field(default_factory=list)
    reply: str = ""
    seconds: float = 0.0
    dimensions: int = 0


def list_models(connection: Connection, watch: Watch = unwatched) -> list[str]:
    """The models that the server names. The connection need not be saved. Raises GenerationFailed."""
    return endpoint_of(connection).call(dialect_of(connection).models, watch, attempts=1)[:MAX_MODELS]


def check_connection(connection: Connection, watch: Watch = unwatched) -> Check:
    """Ask for the models, a word, and a vector, whatever of these the connection is for; the outcome is stored.

    Raises what ``watch`` raises.
    """
    models: list[str] = []
    reply, seconds, dimensions = "", 0.0, 0
    try:
        models = _models_if_listed(connection, watch)
        if connection.model:
            begun = time.monotonic()
            reply = ConnectedBackend(connection, attempts=1).generate(GREETING, watch).text[:MAX_REPLY]
            seconds = time.monotonic() - begun
        if connection.embedding_model:
            dimensions = ConnectedEmbedder(connection).embed(["ready"]).shape[1]
    except GenerationFailed as failure:
        error = failure.detail
    except EmbeddingUnavailable as unavailable:
        error = f"Search vectors: {unavailable}"
    else:
        error = ""
    note_check(connection, error)
    return Check(not error, error, models, reply, seconds, dimensions)


def _models_if_listed(connection: Connection, watch: Watch) -> list[str]:
    """The server's models; none where it replies but has no such list, and models are named anyway."""
    try:
        return list_models(connection, watch)
    except GenerationFailed as failure:
        if failure.server_status in (400, 404, 405, 501) and (connection.model or connection.embedding_model):
            return []
        raise
