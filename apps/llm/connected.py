"""Generation and embeddings by a server that a user connected. Every call is counted, up to the daily limit."""

from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np

from apps.llm.addresses import AddressNotAllowed
from apps.llm.encryption import SealBroken, unseal
from apps.llm.endpoint import ATTEMPTS, Endpoint
from apps.llm.generation import (
    Completion,
    GenerationFailed,
    GenerationRequest,
    Misconfigured,
    Profile,
    Watch,
    unwatched,
)
from apps.llm.local_embeddings import EmbeddingUnavailable
from apps.llm.models import Connection
from apps.llm.ollama import Ollama
from apps.llm.openai_compatible import OpenAICompatible
from apps.llm.operations import address_policy, record_usage
from apps.llm.replies import Reply, plain
from apps.llm.tokens import count_tokens
from apps.llm.usage import check_limit

BATCH = 64  # texts that are embedded at once
QUERY_TEXTS = 8  # so few are a query, for which somebody waits
QUERY_TIMEOUT = 10  # seconds for these, in place of the connection's own
MAX_EMBEDDED = 6_000  # characters of a text; common embedding models take some 8,000 tokens, or refuse the call


def endpoint_of(connection: Connection) -> Endpoint:
    """The connection's server. Raises Misconfigured."""
    policy = address_policy()
    try:
        policy.checked_url(connection.base_url)
        key = unseal(connection.api_key) if connection.api_key else ""
    except (AddressNotAllowed, SealBroken) as error:
        raise Misconfigured(str(error)) from error
    return Endpoint(connection.timeout, policy, key)


def dialect_of(connection: Connection) -> OpenAICompatible | Ollama:
    """How the connection's server is spoken to. Its address must have been checked."""
    if connection.backend == Connection.Backend.OLLAMA:
        return Ollama(connection.base_url, connection.context_tokens)
    return OpenAICompatible(connection.base_url)


class ConnectedBackend:
    """An owner's connection as a generation backend."""

    def __init__(self, connection: Connection, attempts: int = ATTEMPTS) -> None:
        self._connection = connection
        self._attempts = attempts
        self._dialect: OpenAICompatible | Ollama | None = None
        self.name: str = connection.backend
        self.model: str = connection.model
        self.context_tokens: int = connection.context_tokens
        self.profile: Profile = "A" if connection.backend == Connection.Backend.OLLAMA else "B"

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """The model's reply. Raises GenerationFailed, and what ``watch`` raises."""
        check_limit(self._connection.owner_id)
        tries: list[Reply] = []
        try:
            self._call(request, watch, tries)
        except GenerationFailed as failure:
            note_what_came(failure, [one.completion(request) for one in tries])
            raise
        finally:
            taken = [one.completion(request) for one in tries]
            self._record(taken)
        return totalled(taken)

    def _call(self, request: GenerationRequest, watch: Watch, tries: list[Reply]) -> None:
        endpoint = endpoint_of(self._connection)
        dialect = self._dialect = self._dialect or dialect_of(self._connection)

        def work(client: httpx2.Client) -> None:
            reply = Reply()
            tries.append(reply)
            stream = self._connection.stream
            dialect.ask(client, self.model, request, stream, lambda chunks: reply.read(chunks, dialect.piece_of))

        endpoint.call(work, watch, self._attempts)

    def _record(self, taken: Sequence[Completion]) -> None:
        """Count what the tries took; one that failed before the model said anything took nothing."""
        asked, answered = sum(one.prompt_tokens for one in taken), sum(one.completion_tokens for one in taken)
        if asked or answered:
            record_usage(self._connection.owner_id, self.model, asked, answered)


def totalled(taken: Sequence[Completion]) -> Completion:
    """The last try's reply, with the tokens of all."""
    last = taken[-1]
    asked, answered = sum(one.prompt_tokens for one in taken), sum(one.completion_tokens for one in taken)
    return Completion(last.text, asked, answered, last.reasoning)


def note_what_came(failure: GenerationFailed, taken: Sequence[Completion]) -> None:
    """Keep with a failure what had come until then."""
    if taken:
        came = totalled(taken)
        failure.partial, failure.reasoning = came.text, came.reasoning
        failure.prompt_tokens, failure.completion_tokens = came.prompt_tokens, came.completion_tokens


class ConnectedEmbedder:
    """An owner's connection as an embedding backend. ``dimensions`` is 0 until the first vectors have come."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dialect: OpenAICompatible | Ollama | None = None
        self.model = f"{connection.backend}:{connection.embedding_model}"
        self.dimensions = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one a row; of a long text its beginning. Raises EmbeddingUnavailable."""
        batches = [self._batch(texts[at : at + BATCH], len(texts)) for at in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, self.dimensions), dtype=np.float32)

    def _batch(self, texts: Sequence[str], of: int) -> np.ndarray:
        sent = [plain(text)[:MAX_EMBEDDED] or " " for text in texts]
        try:
            check_limit(self._connection.owner_id)
            given, counted = self._ask(sent, is_query=of <= QUERY_TEXTS)
        except GenerationFailed as failure:
            raise EmbeddingUnavailable(failure.detail) from failure
        tokens = sum(map(count_tokens, sent)) if counted is None else counted
        record_usage(self._connection.owner_id, self._connection.embedding_model, tokens, 0)
        return self._checked(given, len(texts))

    def _ask(self, texts: list[str], is_query: bool) -> tuple[list[Any], int | None]:
        endpoint = endpoint_of(self._connection)
        if is_query:
            endpoint = endpoint.hurried(QUERY_TIMEOUT)
        dialect = self._dialect = self._dialect or dialect_of(self._connection)
        return endpoint.call(
            lambda client: dialect.vectors(client, self._connection.embedding_model, texts),
            unwatched,
            attempts=1 if is_query else ATTEMPTS,
        )

    def _checked(self, given: list[Any], expected: int) -> np.ndarray:
        """The server's vectors as rows of length 1. Raises EmbeddingUnavailable where they are none."""
        try:
            vectors = np.array(given, dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise EmbeddingUnavailable("The server's vectors are no lists of numbers of one length.") from error
        if vectors.ndim != 2 or vectors.shape[0] != expected or not vectors.shape[1]:
            raise EmbeddingUnavailable(f"The server gave no vector for each of {expected} texts.")
        if self.dimensions not in (0, vectors.shape[1]):
            raise EmbeddingUnavailable("The server's vectors changed their length.")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingUnavailable("The server gave a vector without a direction.")
        self.dimensions = vectors.shape[1]
        return vectors / lengths
