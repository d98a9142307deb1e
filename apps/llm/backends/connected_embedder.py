"""The embedding backend on a user's connection, within the daily limit. Each call is counted as usage."""

import hashlib
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx2
import numpy as np

from apps.common.stored_texts import gettext_stored
from apps.llm.backends.client import Client
from apps.llm.backends.connected import api_client_of, call_policy_of
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationFailed, TransientFailure, unwatched
from apps.llm.http.endpoint import MAX_ATTEMPTS
from apps.llm.models import Connection
from apps.llm.operations import record_dimensions, record_usage
from apps.llm.tokens import count_tokens
from apps.llm.usage.limits import check_limit
from apps.llm.values import storable_text

BATCH_SIZE = 64  # texts per embedding call
MAX_QUERY_TEXTS = 8  # calls with at most this many texts are taken for search queries, for which a user waits
QUERY_TIMEOUT = 10  # total seconds for such a call
MAX_EMBEDDED_CHARACTERS = 6_000  # per text; common embedding models refuse texts above about 8,000 tokens
MIN_EMBEDDED_CHARACTERS = 200  # to which a text is shortened that a model refuses
# What servers say of too many texts in a call, of which some take ten, of too many tokens in it, and of a text above,
# say, 512 tokens. Few tell which of them it is.
TOO_MUCH = re.compile(
    r"too (?:long|large|big)|too many (?!requests)|batch[ _]size|array[^.]{0,30}length|context (?:length|size|window)"
    r"|max(?:imum)?\b[^.]{0,40}(?:tokens|input|sequence|length|number of)|tokens per (?:request|batch)"
    r"|(?:at most|(?:less|fewer|larger|longer|more) than) \d|reduce the (?:length|input)|split into"
    r"|exceeds? [^.]{0,40}(?:tokens|length|limit|max)",
    re.IGNORECASE,
)
OF_TEXTS = re.compile(r"\b(?:input|context)\b", re.IGNORECASE)  # in Ollama's and llama.cpp's errors of status 500
NOT_A_NUMBER = re.compile(r"\bNaN\b")  # Ollama's, of a vector that it can't write as JSON


class NoVector(EmbeddingUnavailable):
    """The server has no vectors for these texts, but may have some for fewer or shorter ones.

    They are too many or too long, or the model computes numbers that are none, as some do for some sentences.
    """


class ConnectedEmbedder:
    """Embedder on an owner's connection. ``dimensions`` is 0 until a vector has been received from the server.

    How many texts a call may have is learnt from what the server refuses.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._api_client: Client | None = None
        self.model = connection.vector_space
        self.dimensions = connection.embedding_dimensions or 0
        self._batch_size = self._max_batch_size = BATCH_SIZE

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row per text: the unit vector of its beginning. Raise EmbeddingUnavailable.

        A text for which the model has none, while it has some for others, gets one that is near nothing: else no text
        after it would ever be embedded.
        """
        return self._embed(texts, stands_in=True)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of ``embed``: the servers' APIs make no difference. Raise EmbeddingUnavailable."""
        return self._embed(texts, stands_in=False)

    def _embed(self, texts: Sequence[str], *, stands_in: bool) -> np.ndarray:
        is_query = len(texts) <= MAX_QUERY_TEXTS
        batches: list[np.ndarray] = []
        done = 0
        while done < len(texts):
            batch = texts[done : done + self._batch_size]
            try:
                batches.append(self._embed_batch(batch, is_query))
            except NoVector:
                if len(batch) > 1:
                    self._batch_size = self._max_batch_size = len(batch) // 2
                    continue
                self._max_batch_size = BATCH_SIZE  # it may have been this text that was refused, not the number
                row = self._embed_beginning(batch[0], is_query)
                if row is None and not stands_in:
                    raise
                batches.append(self._stand_in(batch[0]) if row is None else row)
            self._batch_size = min(2 * self._batch_size, self._max_batch_size)
            done += len(batch)
        return np.concatenate(batches) if batches else np.zeros((0, self.dimensions), dtype=np.float32)

    def _embed_beginning(self, text: str, is_query: bool) -> np.ndarray | None:
        """Return the row of the longest beginning, of halves of halves, that has one. Raise EmbeddingUnavailable."""
        length = min(len(text), MAX_EMBEDDED_CHARACTERS)
        while length > MIN_EMBEDDED_CHARACTERS:
            length = max(length // 2, MIN_EMBEDDED_CHARACTERS)
            with suppress(NoVector):
                return self._embed_batch([text[:length]], is_query)
        return None

    def _stand_in(self, text: str) -> np.ndarray:
        """Return a row near nothing. Raise EmbeddingUnavailable if the server has no vector for a plain word either."""
        self._embed_batch(["ready"], is_query=True)
        return _near_nothing(text, self.dimensions)

    def _embed_batch(self, texts: Sequence[str], is_query: bool) -> np.ndarray:
        """Return a row per text. Raise EmbeddingUnavailable."""
        # Servers refuse an empty text.
        sent = [storable_text(text)[:MAX_EMBEDDED_CHARACTERS] or " " for text in texts]
        try:
            check_limit(self._connection.owner_id)
            vectors, counted = self._request_vectors(sent, is_query)
        except GenerationFailed as failure:
            raise (NoVector if _is_of_texts(failure) else EmbeddingUnavailable)(failure.detail) from failure
        tokens = sum(map(count_tokens, sent)) if counted is None else counted
        record_usage(self._connection.owner_id, self._connection.embedding_model, tokens, 0)
        return self._normalized(vectors, len(texts))

    def _request_vectors(self, texts: list[str], is_query: bool) -> tuple[list[Any], int | None]:
        """Return the server's vectors and its token count or None. Raise GenerationFailed."""
        policy = call_policy_of(self._connection)
        if is_query:
            policy = policy.with_time_limit(QUERY_TIMEOUT)
        api_client = self._api_client = self._api_client or api_client_of(self._connection)

        def work(client: httpx2.Client) -> tuple[list[Any], int | None]:
            try:
                return api_client.vectors(client, self._connection.embedding_model, texts)
            except TransientFailure as failure:
                if _is_of_texts(failure):
                    failure.retry_after = math.inf  # the same texts fail again
                raise

        # Vectors take no place on the connection: they are quick, and a search must not wait behind a long reply.
        return policy.call(work, unwatched, attempts=1 if is_query else MAX_ATTEMPTS)

    def _normalized(self, rows: list[Any], expected: int) -> np.ndarray:
        """Return the server's vectors as rows of length 1. Raise EmbeddingUnavailable for malformed ones."""
        try:
            vectors = np.array(rows, dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise EmbeddingUnavailable(
                gettext_stored("The server's vectors are not lists of numbers of one length.")
            ) from error
        if vectors.ndim != 2 or vectors.shape[0] != expected or not vectors.shape[1]:
            raise EmbeddingUnavailable(
                gettext_stored("The server did not return a vector for each of %(expected)s texts.", expected=expected)
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise NoVector(gettext_stored("The server returned a vector of zeros or with invalid numbers."))
        if vectors.shape[1] != self.dimensions:
            if not record_dimensions(self._connection, vectors.shape[1]):
                raise EmbeddingUnavailable(
                    gettext_stored("The server's vectors changed their length, so all are computed again.")
                )
            self.dimensions = vectors.shape[1]
        return vectors / lengths


def _is_of_texts(failure: GenerationFailed) -> bool:
    """Return whether a server fails for the number, the length or the content of the texts, not for the time being."""
    status, detail = failure.server_status, str(failure.detail)
    if status == 413 or (status and NOT_A_NUMBER.search(detail)):
        return True
    return bool((status in (400, 422) or (status == 500 and OF_TEXTS.search(detail))) and TOO_MUCH.search(detail))


def _near_nothing(text: str, dimensions: int) -> np.ndarray:
    """Return one unit vector of any direction, which is another one for each text."""
    seed = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    row = np.random.default_rng(seed).standard_normal((1, dimensions)).astype(np.float32)
    return row / np.linalg.norm(row)
