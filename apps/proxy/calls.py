"""Prepare a call of the upstream: who asks, what is stored, what is sent. Everything here uses the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.core.cache import cache
from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from apps.accounts.authentication import BearerAuthentication
from apps.accounts.models import ApiToken, User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import find_or_create_character
from apps.common import merge_patch
from apps.common.problems import Invalid, Missing, Problem, ProblemType
from apps.common.strict_json import parse_document
from apps.injection.prompts.assembly import assemble
from apps.llm.backends import ollama, openai_compatible
from apps.llm.backends.connected import api_client_of, call_policy_of
from apps.llm.generation import GenerationFailed, unwatched
from apps.llm.http.endpoint import CallPolicy
from apps.llm.models import Connection
from apps.llm.operations import record_usage
from apps.llm.queries import generation_connection
from apps.llm.tokens import count_tokens
from apps.llm.usage.limits import check_limit
from apps.proxy.conversation import Turn, opening_of, text_of, turns_of
from apps.proxy.models import ProxiedChat
from apps.proxy.operations import store_reply, store_request
from apps.proxy.prompts import with_memory
from apps.proxy.replies import CollectedReply
from apps.proxy.side_calls import is_side_call, quotes_a_chat

logger = structlog.get_logger(__name__)

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
MODELS_TIMEOUT = 5.0  # seconds
MODELS_CACHED = 600  # seconds
RECENT_CHATS = 5  # which a request for a title may quote


class NoConnection(Problem):
    """The owner has no connection for generation."""

    type = ProblemType.CONFLICT
    title = "No model is connected"


@dataclass(frozen=True)
class UpstreamCall:
    """A request to send, and where its reply is stored: ``chat_id`` and ``anchor`` are None for a side call.

    ``memory`` is on, off or failed.
    """

    owner_id: UUID
    policy: CallPolicy
    url: str
    body: dict[str, Any]
    chat_id: UUID | None = None
    anchor: UUID | None = None
    memory: str = "off"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response to the client."""
        return {"X-Loci-Memory": self.memory} | ({"X-Loci-Chat": str(self.chat_id)} if self.chat_id else {})


def owner_of(request: HttpRequest) -> User:
    """Return the owner of the request's token. Raise AuthenticationFailed, PermissionDenied."""
    authenticated = BearerAuthentication().authenticate(request)  # type: ignore[arg-type]
    if authenticated is None:
        raise NotAuthenticated("Send a Loci API token as the API key: Authorization: Bearer loci_...")
    owner, token = authenticated
    if token.scope != ApiToken.Scope.WRITE:
        raise PermissionDenied("This token may only read. The proxy stores chats, so it needs one that may write.")
    return owner


def connection_of(owner: User) -> Connection:
    """Return the connection that the owner uses for generation. Raise NoConnection."""
    connection = generation_connection(owner)
    if connection is None:
        raise NoConnection("No language model is connected. Connect one in Loci under Settings, Models.")
    if connection.backend == Connection.Backend.BROWSER:
        raise NoConnection("Your model runs in your browser, where the proxy can't call it. Use a model server.")
    return connection


def prepare_call(request: HttpRequest) -> UpstreamCall:
    """Store the turns of a request, and return the call to make. Raise Problem, APIException."""
    owner = owner_of(request)
    body = parsed_body(request.body)
    connection = connection_of(owner)
    check_limit(owner)
    policy, url = call_policy_of(connection), f"{base_url(connection)}/chat/completions"
    sent = {**body, "model": _model(connection, body.get("model"))}
    if connection.backend == Connection.Backend.OPENAI:
        sent = merge_patch.apply(sent, connection.extra_body)
    turns = turns_of(body["messages"])
    if _is_apart(owner, request.headers, body, turns):
        return UpstreamCall(owner.pk, policy, url, sent)
    opening = opening_of(body["messages"])
    character = _character(owner, request.headers.get("X-Loci-Character", "").strip(), opening)
    stored = store_request(owner, turns, opening=opening, named=_chat_id(request.headers), character=character)
    sent["messages"], memory = _messages_with_memory(stored.chat, connection, body["messages"])
    return UpstreamCall(owner.pk, policy, url, sent, stored.chat.pk, stored.anchor, memory)


def parsed_body(raw: bytes) -> dict[str, Any]:
    """Return the body of a request. Raise Invalid with the field, ParseError if it is not JSON."""
    body = parse_document(raw)
    if not isinstance(body, dict):
        raise Invalid.at("", "The body must be an object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Invalid.at("/messages", "messages: it must be a list with at least one message.")
    for number, message in enumerate(messages):
        at = f"/messages/{number}"
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise Invalid.at(f"{at}/role", f"messages[{number}].role: it must be one of {', '.join(ROLES)}.")
        if not isinstance(message.get("content"), str | list | None):
            raise Invalid.at(f"{at}/content", f"messages[{number}].content: it must be a string, a list or null.")
        calls = message.get("tool_calls")
        if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
            raise Invalid.at(f"{at}/tool_calls", f"messages[{number}].tool_calls: it must be a list of objects.")
    return body


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
        except GenerationFailed:
            names = []
        cache.set(key, names, MODELS_CACHED)
    return list(dict.fromkeys([connection.model, *names]))


def _model(connection: Connection, sent: Any) -> str:
    """Return the model to ask: the one that the client names if the server lists it, else the connection's."""
    if isinstance(sent, str) and sent != connection.model and sent in models_of(connection):
        return sent
    return connection.model


def _is_apart(owner: User, headers: Mapping[str, str], body: Mapping[str, Any], turns: list[Turn]) -> bool:
    """Return whether a request is no part of a chat: the client says so, or makes it for itself."""
    if headers.get("X-Loci-Memory", "").strip().lower() == "off" or is_side_call(body, turns):
        return True
    if len(turns) > 1:
        return False
    recent = ProxiedChat.objects.for_owner(owner).filter(chat__deleted_at=None).order_by("-updated_at")
    texts = []
    for chat_id in recent.values_list("chat_id", flat=True)[:RECENT_CHATS]:
        messages = Message.objects.for_owner(owner).filter(chat=chat_id, is_system=False).with_swipes()
        texts.append([message.mes for message in messages.order_by("-index")[:2]])
    return quotes_a_chat(turns, texts)


def _chat_id(headers: Mapping[str, str]) -> UUID | None:
    """Return the chat that the client names, or None. Raise Missing."""
    value = headers.get("X-Loci-Chat", "").strip()
    try:
        return UUID(value) if value else None
    except ValueError:
        raise Missing("X-Loci-Chat names no chat.") from None


def _character(owner: User, name: str, opening: str) -> Character | None:
    """Return the character that the client names, else the owner's whose name the opening has most often, or None."""
    if name:
        return find_or_create_character(owner, name[:200])
    named = [
        (opening.count(character.name), character)
        for character in Character.objects.for_owner(owner).only("name", "owner_id").order_by("pk")
        if character.name in opening
    ]
    return max(named, key=lambda item: item[0])[1] if named else None


def _messages_with_memory(
    chat: Chat, connection: Connection, messages: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], str]:
    """Return the messages with what is remembered, and "on", or as they are, and "failed"."""
    try:
        prompt = assemble(chat, text=None, character=None, context_tokens=connection.context_tokens, with_history=False)
        return with_memory(messages, prompt.slots, prompt.macros), "on"
    except Exception:
        # A reply without memory is better than none, whatever failed.
        logger.exception("a call of the proxy goes on without memory", chat_id=str(chat.pk))
        return messages, "failed"


def finish_call(call: UpstreamCall, reply: CollectedReply) -> None:
    """Count the tokens of a reply, and store it. Store nothing if the chat was deleted in the meantime."""
    received = bool(reply.text or reply.tools)
    if received or reply.prompt_tokens is not None:
        prompt = reply.prompt_tokens
        if prompt is None:
            prompt = sum(count_tokens(text_of(message)) for message in call.body["messages"])
        completion = count_tokens(reply.text) if reply.completion_tokens is None else reply.completion_tokens
        record_usage(call.owner_id, call.body["model"], prompt, completion)
    if received and call.chat_id is not None and call.anchor is not None:
        try:
            store_reply(call.owner_id, call.chat_id, call.anchor, reply)
        except Problem as problem:
            logger.warning("a reply is not stored", chat_id=str(call.chat_id), reason=problem.detail)
