"""The model server that the owner has connected."""

from typing import Any

from django.core.cache import cache

from apps.accounts.models import User
from apps.common.problems import Problem, ProblemType
from apps.llm.backends import ollama, openai_compatible
from apps.llm.backends.connected import api_client_of, call_policy_of
from apps.llm.generation import GenerationFailed, unwatched
from apps.llm.models import Connection
from apps.llm.queries import generation_connection

MODELS_TIMEOUT = 5.0  # seconds
MODELS_CACHED = 600  # seconds
FAILURE_CACHED = 15  # seconds; without it, each request would wait for the server that lists none


class NoConnection(Problem):
    """The owner has no connection for generation."""

    type = ProblemType.CONFLICT
    title = "No model is connected"


def connection_of(owner: User) -> Connection:
    """Return the connection that the owner uses for generation. Raise NoConnection."""
    connection = generation_connection(owner)
    if connection is None:
        raise NoConnection("No language model is connected. Connect one in Loci under Settings, Models.")
    if connection.backend == Connection.Backend.BROWSER:
        raise NoConnection("Your model runs in your browser, where the proxy can't call it. Use a model server.")
    return connection


def base_url(connection: Connection) -> str:
    """Return the base URL of the connection's OpenAI-compatible API. Ollama's is below ``/v1``."""
    if connection.backend == Connection.Backend.OLLAMA:
        return f"{ollama.base_url_of(connection.base_url)}/v1"
    return openai_compatible.base_urls(connection.base_url)[0]


def models_of(connection: Connection) -> list[str]:
    """Return the connection's model and the others of its server, as far as it lists them."""
    key = f"proxy-models-{connection.pk}-{connection.updated_at.timestamp()}"
    names = cache.get(key)
    if names is None:
        try:
            policy = call_policy_of(connection).with_time_limit(MODELS_TIMEOUT)
            names = policy.call(api_client_of(connection).models, unwatched, attempts=1)
            cache.set(key, names, MODELS_CACHED)
        except GenerationFailed:
            names = []
            cache.set(key, names, FAILURE_CACHED)
    return list(dict.fromkeys([connection.model, *names]))


def model_of(connection: Connection, asked_model: Any) -> str:
    """Return the model to ask: the one that the client names if the server lists it, else the connection's."""
    if isinstance(asked_model, str) and asked_model != connection.model and asked_model in models_of(connection):
        return asked_model
    return connection.model
