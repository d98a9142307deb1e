"""The generation backend on a user's connection, within the daily limit. Each call is counted as usage."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import httpx2

from apps.common.stored_texts import gettext_stored
from apps.llm.apis import SERVER_APIS, ServerAPI
from apps.llm.backends.client import Client
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
    Watch,
    unwatched,
)
from apps.llm.http.addresses import AddressNotAllowed, address_policy
from apps.llm.http.endpoint import CallPolicy
from apps.llm.models import Connection
from apps.llm.operations import record_usage, stop_constraining
from apps.llm.places import GaveWay, place_at_once, place_on
from apps.llm.replies.constrained import INSTRUCTION, lines_in, sets_own_form
from apps.llm.replies.reply import Reply
from apps.llm.tokens import count_tokens
from apps.llm.usage.limits import check_limit

MAX_YIELDS = 3  # times that a call gives way to others, so that it is made at last
# Statuses by which servers refuse to constrain a reply: 404 if no provider of a model can, 500 if the parser crashes.
REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})


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
