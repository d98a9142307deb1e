"""Prepare a call of the upstream: read a request, match it with a chat, store it, and give it memory."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django.http import HttpRequest

from apps.accounts.authentication import instance_of, writer_of
from apps.accounts.models import User
from apps.chats.models import Character, Message
from apps.common.documents import merge_patch
from apps.llm.backends.connected import call_policy_of
from apps.llm.models import Connection
from apps.llm.tokens import token_counter
from apps.llm.usage.limits import check_limit
from apps.proxy.matching.finding import has_sent, is_found
from apps.proxy.memory import messages_with_memory, room_for_memory, speaker_in
from apps.proxy.models import ProxiedChat
from apps.proxy.operations.requests import StoredRequest, store_request
from apps.proxy.requests.body import parsed_body, without_blanks
from apps.proxy.requests.conversations import ClientRequest, conversation_in
from apps.proxy.requests.headers import (
    character_name,
    character_of,
    follows_deletions,
    is_without_memory,
    named_chat,
    owner_of,
)
from apps.proxy.requests.nudges import Nudge, nudge_of
from apps.proxy.requests.side_calls import is_side_call, quotes_a_chat
from apps.proxy.requests.turns import Turn
from apps.proxy.upstream.calls import UpstreamCall
from apps.proxy.upstream.connections import base_url, connection_of, model_of
from apps.replies.tools.toolbox import Toolbox, room_for, toolbox_for

logger = structlog.get_logger(__name__)

OWN_TOOLS = ("tools", "functions", "tool_choice", "function_call", "response_format")
RECENT_CHATS = 5  # which a request for a title may quote


def prepare_call(request: HttpRequest) -> UpstreamCall:
    """Store the turns of a request, and return the call to make. Raise Problem, APIException."""
    owner = owner_of(request)
    body = parsed_body(request.body)
    connection = connection_of(owner)
    check_limit(owner)
    policy, url = call_policy_of(connection), f"{base_url(connection)}/chat/completions"
    upstream_body = {**body, "model": model_of(connection, body.get("model"))}
    if connection.backend == Connection.Backend.OPENAI:
        upstream_body = merge_patch.apply(upstream_body, connection.extra_body)
    read = conversation_in(body["messages"], character_name(request.headers))
    client = writer_of(request)
    nudge = nudge_of(read.messages, read.turns, lambda _: has_sent(owner, client, read.post_history))
    if _is_apart(owner, request.headers, {**body, "messages": read.messages}, read.turns, nudge):
        return UpstreamCall(owner.pk, policy, url, upstream_body)
    character = character_of(owner, request.headers, read.opening)
    stored = store_request(
        owner,
        ClientRequest(
            turns=read.turns,
            opening=read.common_opening,
            instructions=[*read.instructions, *read.post_history],
            company=read.company,
            named=named_chat(request.headers),
            character=character,
            is_named=bool(character_name(request.headers)),
            follows=follows_deletions(request.headers),
            is_nudged=nudge is Nudge.NEXT_REPLY,
            client=client,
            instance=instance_of(request),
        ),
    )
    upstream_body["messages"] = without_blanks(upstream_body["messages"])
    toolbox = _toolbox(stored, connection, upstream_body, character)
    upstream_body["messages"], memory = messages_with_memory(
        stored, connection, upstream_body, character, reserved=_needed(toolbox, connection)
    )
    return UpstreamCall(owner.pk, policy, url, upstream_body, stored, memory, toolbox if memory == "on" else None)


def _toolbox(
    stored: StoredRequest, connection: Connection, body: Mapping[str, Any], character: Character | None
) -> Toolbox | None:
    """Return what the model may look things up with; nothing for a client whose own tools would mix with ours, and
    where the client's messages leave no room for what is found.
    """
    if any(body.get(name) for name in OWN_TOOLS) or body.get("n") not in (None, 1):
        return None
    try:
        speaker = speaker_in(stored.chat, body["messages"], character)
        toolbox = toolbox_for(stored.chat, connection, speaker or character, anchor=stored.anchor)
        has_room = toolbox is not None and room_for_memory(connection, body) >= _needed(toolbox, connection)
        return toolbox if has_room else None
    except Exception:
        logger.exception("a call of the proxy goes on without tools", chat_id=str(stored.chat.pk))
        return None


def _needed(toolbox: Toolbox | None, connection: Connection) -> int:
    """Return how many tokens of the context tools take, with what is found with them."""
    if toolbox is None:
        return 0
    return room_for(connection) + token_counter(connection.model)(json.dumps(toolbox.tools))


def _is_apart(
    owner: User, headers: Mapping[str, str], body: Mapping[str, Any], turns: Sequence[Turn], nudge: Nudge | None
) -> bool:
    """Return whether a request is no part of a chat: the client says so, or makes it for itself."""
    if is_without_memory(headers) or is_side_call(body, turns, nudge):
        return True
    if len(turns) > 1 or named_chat(headers):
        return False
    recent = ProxiedChat.objects.for_owner(owner).filter(is_found()).order_by("-updated_at")
    texts = []
    for chat_id in recent.values_list("chat_id", flat=True)[:RECENT_CHATS]:
        # Not those that are ``told`` alone: the client quotes what moderators have withheld too. Nothing is told of it.
        messages = Message.objects.for_owner(owner).filter(chat=chat_id, is_system=False).with_swipes()
        texts.append([message.mes for message in messages.order_by("-index")[:2]])
    return quotes_a_chat(turns, texts)
