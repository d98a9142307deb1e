"""List the models of a connection's server, and test a connection."""

import time
from dataclasses import dataclass, field

from django.utils.translation import gettext

from apps.llm.backends.connected import ConnectedEmbedder, api_client_of, call_policy_of
from apps.llm.backends.selection import backend_on
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationFailed, GenerationRequest, unwatched
from apps.llm.models import Connection
from apps.llm.operations import record_check

TEST_REQUEST = GenerationRequest(
    "connection_test", [{"role": "user", "content": "Reply with the one word “ready”."}], max_tokens=64
)
MAX_MODELS = 2000  # longest list that is returned
MAX_REPLY_LENGTH = 200  # characters of the test's reply


@dataclass(frozen=True)
class ConnectionTestResult:
    """Result of a test. ``seconds`` is the time that ``reply`` took, ``dimensions`` the length of a vector, or 0."""

    ok: bool
    error: str = ""
    models: list[str] = field(default_factory=list)
    reply: str = ""
    seconds: float = 0.0
    dimensions: int = 0


def list_models(connection: Connection) -> list[str]:
    """Return the names of the server's models. The connection need not be saved. Raise GenerationFailed.

    A browser has no list of its models.
    """
    if connection.backend == Connection.Backend.BROWSER:
        return []
    return call_policy_of(connection).call(api_client_of(connection).models, unwatched, attempts=1)[:MAX_MODELS]


def check_connection(connection: Connection) -> ConnectionTestResult:
    """Request the list of models and, if models are set, a short reply and a vector. Store and return the result."""
    models: list[str] = []
    reply, seconds, dimensions = "", 0.0, 0
    try:
        models = _models_if_listed(connection)
        if connection.model:
            started = time.monotonic()
            reply = backend_on(connection, is_urgent=True).generate(TEST_REQUEST).text[:MAX_REPLY_LENGTH]
            seconds = time.monotonic() - started
        if connection.embedding_model:
            dimensions = ConnectedEmbedder(connection).embed(["ready"]).shape[1]
    except GenerationFailed as failure:
        error = failure.detail
    except EmbeddingUnavailable as unavailable:
        error = gettext("Search vectors: %(unavailable)s") % {"unavailable": unavailable}
    else:
        error = ""
    record_check(connection, error)
    return ConnectionTestResult(not error, error, models, reply, seconds, dimensions)


def _models_if_listed(connection: Connection) -> list[str]:
    """Return the server's models, or [] if it has no list of them but the connection names a model."""
    try:
        return list_models(connection)
    except GenerationFailed as failure:
        if failure.server_status in (400, 404, 405, 501) and (connection.model or connection.embedding_model):
            return []
        raise
