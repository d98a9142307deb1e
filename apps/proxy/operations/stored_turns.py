"""Turns of the proxy in the form in which they are stored."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, PARTIAL_KEY
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat
from apps.proxy.requests.turns import Turn

MAX_TOOL_CHARACTERS = 10_000  # of a call and its result, as stored
MAX_TOOLS = 20  # of a turn


def parsed_turn(chat: Chat, turn: Turn, *, is_partial: bool = False) -> ParsedMessage:
    """Return a turn as a message of the chat."""
    now = timezone.now()
    assistant = chat.character.name if chat.character else "Assistant"
    return ParsedMessage(
        name=turn.name or ((chat.user_name or "User") if turn.is_user else assistant),
        is_user=turn.is_user,
        is_system=False,
        send_date=timestamp(now),
        sent_at=now,
        swipe_id=0,
        swipes=(swipe_of(turn, is_partial=is_partial),),
        layout="",
    )


def swipe_of(turn: Turn, *, is_partial: bool = False) -> ParsedSwipe:
    """Return a turn as a swipe."""
    data = data_of(turn.tools, is_partial=is_partial)
    return ParsedSwipe(turn.text, {LOCI_NAMESPACE: data} if data else {})


def data_of(tools: Sequence[dict[str, Any]], *, is_partial: bool) -> dict[str, Any]:
    """Return what Loci stores with a message of these calls of tools."""
    return ({"tools": storable(tools)} if tools else {}) | ({PARTIAL_KEY: True} if is_partial else {})


def storable(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return name, arguments and result of each call, cut to a length that a message may hold."""
    stored = []
    for call in tools[:MAX_TOOLS]:
        # As a client sends it, or as it is stored.
        given = call.get("function")
        function = given if isinstance(given, dict) else call
        texts = {"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
        texts["result"] = call.get("result")
        stored.append({name: str(text)[:MAX_TOOL_CHARACTERS] for name, text in texts.items() if text is not None})
    return stored
