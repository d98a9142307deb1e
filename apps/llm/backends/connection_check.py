"""List the models of a connection's server, and test a connection."""

import time
from dataclasses import dataclass, field, replace

from apps.common.stored_texts import gettext_stored
from apps.llm.backends.connected import (
    REFUSING_STATUSES,
    ConnectedBackend,
    api_client_of,
    call_policy_of,
)
from apps.llm.backends.connected_embedder import ConnectedEmbedder
from apps.llm.backends.selection import backend_on
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationFailed, GenerationRequest, TransientFailure, unwatched
from apps.llm.models import Connection
from apps.llm.operations import record_check
from apps.llm.replies.constrained import TEST_PATTERN, keeps_to, sets_own_form

TEST_REQUEST = GenerationRequest(
    "connection_test", [{"role": "user", "content": "Reply with the one word “ready”."}], max_tokens=64
)
# The prompt asks for no line of that form: only a server that constrains the reply brings one about.
CONSTRAINED_REQUEST = replace(TEST_REQUEST, task="constraint_test", line_pattern=TEST_PATTERN)
MAX_MODELS = 2000  # longest list that is returned
MAX_REPLY_LENGTH = 200  # characters of the test's reply


@dataclass(frozen=True)
class ConnectionTestResult:
    """Result of a test. ``seconds`` is the time that ``reply`` took, ``dimensions`` the length of a vector, or 0.

    ``constrains_replies`` says whether the server enforces the form of replies, None if that is not known.
    """

    ok: bool
    error: str = ""
    models: list[str] = field(default_factory=list)
    reply: str = ""
    seconds: float = 0.0
    dimensions: int = 0
    constrains_replies: bool | None = None


def list_models(connection: Connection) -> list[str]:
    """Return the names of the server's models. The connection need not be saved. Raise GenerationFailed.

    A browser has no list of its models.
    """
    if connection.backend == Connection.Backend.BROWSER:
        return []
    return call_policy_of(connection).call(api_client_of(connection).models, unwatched, attempts=1)[:MAX_MODELS]


def check_connection(connection: Connection) -> ConnectionTestResult:
    """Request the list of models and, if models are set, a short reply, one in a form, and a vector.

    Store and return the result.
    """
    models: list[str] = []
    reply, seconds, dimensions, constrains = "", 0.0, 0, None
    try:
        models = _models_if_listed(connection)
        if connection.model:
            started = time.monotonic()
            reply = backend_on(connection, is_urgent=True).generate(TEST_REQUEST).text[:MAX_REPLY_LENGTH]
            seconds = time.monotonic() - started
            constrains = _constrains_replies(connection)
        if connection.embedding_model:
            dimensions = ConnectedEmbedder(connection).embed(["ready"]).shape[1]
    except GenerationFailed as failure:
        error = failure.detail
    except EmbeddingUnavailable as unavailable:
        error = gettext_stored("Search vectors: %(unavailable)s", unavailable=unavailable)
    else:
        error = ""
    record_check(connection, error, constrains)
    return ConnectionTestResult(not error, error, models, reply, seconds, dimensions, constrains)


def _constrains_replies(connection: Connection) -> bool | None:
    """Return whether the server enforces the form of a reply, None if it could not be asked.

    A server that refuses to, or fails at it, passes the test all the same.
    """
    if connection.backend == Connection.Backend.BROWSER or sets_own_form(connection.extra_body):
        return False
    try:
        completion = ConnectedBackend(connection, is_urgent=True).complete_as_asked(CONSTRAINED_REQUEST)
    except TransientFailure as failure:
        return False if failure.server_status in REFUSING_STATUSES else None
    except GenerationFailed:
        return False
    return keeps_to(TEST_PATTERN, completion.text, is_cut_off=completion.cut_off)


def _models_if_listed(connection: Connection) -> list[str]:
    """Return the server's models, or [] if it has no list of them but the connection names a model."""
    try:
        return list_models(connection)
    except GenerationFailed as failure:
        if failure.server_status in (400, 404, 405, 501) and (connection.model or connection.embedding_model):
            return []
        raise
