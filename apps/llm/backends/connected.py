"""Generation and embedding backends on a user's connection, within the daily limit. Each call is counted as usage."""

import hashlib
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np

from apps.common.stored_texts import gettext_stored
from apps.llm.apis import SERVER_APIS, ServerAPI
from apps.llm.backends.client import Client
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.encryption import Undecryptable
from apps.llm.generation import (
    Completion,
    GenerationFailed,
    GenerationRequest,
    Listener,
    Misconfigured,
    Profile,
    PromptMessage,
    Refused,
    TransientFailure,
    Watch,
    unwatched,
)
from apps.llm.http.addresses import AddressNotAllowed
from apps.llm.http.endpoint import MAX_ATTEMPTS, CallPolicy
from apps.llm.models import Connection
from apps.llm.operations import address_policy, record_dimensions, record_usage, stop_constraining
from apps.llm.places import GaveWay, place_at_once, place_on
from apps.llm.replies.constrained import INSTRUCTION, lines_in, sets_own_form
from apps.llm.replies.reply import Reply
from apps.llm.tokens import count_tokens
from apps.llm.usage.limits import check_limit
from apps.llm.values import storable_text

MAX_YIELDS = 3  # times that a call gives way to others, so that it is made at last
BATCH_SIZE = 64  # texts per embedding call
MAX_QUERY_TEXTS = 8  # calls with at most this many texts are taken for search queries, for which a user waits
QUERY_TIMEOUT = 10  # total seconds for such a call
# Statuses by which servers refuse to constrain a reply: 404 if no provider of a model can, 500 if the parser crashes.
REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})
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


def call_policy_of(connection: Connection) -> CallPolicy:
    """Return the connection's server with its key. Raise Misconfigured."""
    policy = address_policy()
    try:
        policy.checked_url(connection.base_url)
    except AddressNotAllowed as error:
        raise Misconfigured(str(error)) from error
    if isinstance(connection.api_key, Undecryptable):
        raise Misconfigured(gettext_stored("The stored key was encrypted with another SECRET_KEY. Enter it again."))
    return CallPolicy(connection.timeout, policy, connection.api_key)


def api_client_of(connection: Connection) -> Client:
    """Return the client of the connection's API. The base URL must have been checked. Raise Misconfigured."""
    api = SERVER_APIS.get(connection.backend)
    if api is None:  # the row comes from an installation that has more of them
        raise Misconfigured(gettext_stored("Loci doesn't know this kind of server here. Choose another one."))
    client: Client = api.client_of(connection)
    return client


class ReplyIsEnough(Exception):
    """What the model has written so far is all that is wanted of it."""


class ConnectedBackend:
    """Generation backend on an owner's connection.

    Calls wait for a place on the connection, and are tried several times, unless a person waits (``is_urgent``): then
    those under way give way where there is one place.
    """

    def __init__(self, connection: Connection, *, is_urgent: bool = False) -> None:
        self._connection = connection
        self._is_urgent = is_urgent
        self._api_client: Client | None = None
        self.name: str = connection.backend
        self.model: str = connection.model
        self.context_tokens: int = connection.context_tokens
        api = SERVER_APIS.get(connection.backend)
        self.profile: Profile = api.profile if api else ServerAPI.profile

    def generate(
        self, request: GenerationRequest, watch: Watch = unwatched, listener: Listener | None = None
    ) -> Completion:
        """Return the model's reply. Raise GenerationFailed, and any exception of ``watch`` and ``listener``.

        ``listener`` gets the text so far about once a second. A server that is known to constrain replies is asked to,
        until it does not.
        """
        plain = replace(request, line_pattern="")
        if not (request.line_pattern and self._constrains()):
            return self.complete_as_asked(plain, watch, listener)
        try:
            completion = self.complete_as_asked(_constrained(request), watch, listener)
        except GenerationFailed as failure:
            if not isinstance(failure, Refused) and failure.server_status not in REFUSING_STATUSES:
                raise
            completion = self.complete_as_asked(plain, watch, listener)  # raises if that was not the reason
            stop_constraining(self._connection)
            return completion
        return self._as_lines(completion)

    def _constrains(self) -> bool:
        return bool(self._connection.constrains_replies) and not sets_own_form(self._connection.extra_body)

    def _as_lines(self, completion: Completion) -> Completion:
        """Return a reply in JSON as lines, another one as it is: then the server does not constrain replies.

        It may still, where a filter or thoughts left no room for the reply. One that goes on with white space until
        its limit is no use.
        """
        lines = lines_in(completion.text)
        is_blank = completion.cut_off and 2 * count_tokens(completion.text) < completion.completion_tokens
        has_thought = completion.cut_off and completion.reasoning
        if (lines is None or is_blank) and not completion.filtered and not has_thought:
            stop_constraining(self._connection)
        return completion if lines is None else replace(completion, text="\n".join(lines) or "NONE")

    def complete_as_asked(
        self, request: GenerationRequest, watch: Watch = unwatched, listener: Listener | None = None
    ) -> Completion:
        """Return the model's reply as it is, constrained if the request says so. Raise as ``generate``."""
        check_limit(self._connection.owner_id)
        attempts: list[Reply] = []

        def watch_and_tell() -> None:
            watch()
            if listener and attempts:
                listener(attempts[-1].text)
            if request.is_enough and attempts and request.is_enough(attempts[-1].text):
                raise ReplyIsEnough

        try:
            self._call(request, watch_and_tell, attempts)
        except ReplyIsEnough:
            attempts[-1].cut_off = True
        except GenerationFailed as failure:
            attach_partial_reply(failure, [reply.completion(request) for reply in attempts])
            raise
        finally:
            completions = [reply.completion(request) for reply in attempts]
            self._record_usage(completions)
        return last_with_total_tokens(completions)

    def _call(self, request: GenerationRequest, watch: Watch, attempts: list[Reply]) -> None:
        """Call the server. Append the reply of each attempt, also of failed ones, to ``attempts``."""
        policy = call_policy_of(self._connection)
        api_client = self._api_client = self._api_client or api_client_of(self._connection)

        def work(client: httpx2.Client) -> None:
            reply = Reply()
            attempts.append(reply)
            stream = self._connection.stream
            api_client.request_completion(
                client, self.model, request, stream, lambda chunks: reply.read(chunks, api_client.parse_delta)
            )

        if self._connection._state.adding:  # the test of a connection that isn't stored yet
            policy.call(work, watch, attempts=1)
        elif self._is_urgent:
            with place_at_once(self._connection, watch) as renewing_watch:
                policy.call(work, renewing_watch, attempts=1)
        else:
            for left in range(MAX_YIELDS, -1, -1):
                with suppress(GaveWay), place_on(self._connection, watch, gives_way=left > 0) as renewing_watch:
                    policy.call(work, renewing_watch)
                    break

    def _record_usage(self, completions: Sequence[Completion]) -> None:
        """Count the tokens of all attempts. Attempts that failed before the model replied used none."""
        if completions:
            total = last_with_total_tokens(completions)
            if total.prompt_tokens or total.completion_tokens:
                record_usage(self._connection.owner_id, self.model, total.prompt_tokens, total.completion_tokens)


def _constrained(request: GenerationRequest) -> GenerationRequest:
    """Return a request that also tells the model of the form that its reply is held to."""
    *before, last = request.messages
    told: PromptMessage = {"role": last["role"], "content": f"{last['content']}\n\n{INSTRUCTION}"}
    return replace(request, messages=[*before, told])


def last_with_total_tokens(completions: Sequence[Completion]) -> Completion:
    """Return the last attempt's reply with the token counts of all attempts."""
    last = completions[-1]
    prompt_tokens = sum(completion.prompt_tokens for completion in completions)
    completion_tokens = sum(completion.completion_tokens for completion in completions)
    return replace(last, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def attach_partial_reply(failure: GenerationFailed, completions: Sequence[Completion]) -> None:
    """Add the text received before the failure, and the tokens used, to the exception."""
    if completions:
        total = last_with_total_tokens(completions)
        failure.partial, failure.reasoning = total.text, total.reasoning
        failure.prompt_tokens, failure.completion_tokens = total.prompt_tokens, total.completion_tokens


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
