"""Add what is remembered to a client's messages."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog

from apps.chats.macros import macros_in, resolve_in_order
from apps.chats.models import Character, Chat, Participant
from apps.chats.operations import character_of_participant
from apps.llm.models import Connection
from apps.llm.tokens import token_counter
from apps.prompts.assembly.conversation import insert_slots
from apps.prompts.assembly.prompt import assemble
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.filling.budgets import context_with_room
from apps.prompts.slots.entries import FilledSlot
from apps.prompts.turns import visible_messages
from apps.proxy.operations.requests import StoredRequest
from apps.proxy.requests.folded_prompts import unfolded
from apps.proxy.requests.nudges import naming_instruction
from apps.proxy.requests.texts import mentions
from apps.proxy.requests.turns import INSTRUCTION_ROLES, TOOL_ROLES, Document, leading_instructions, text_of

Message = dict[str, Any]
logger = structlog.get_logger(__name__)

MESSAGE_TOKENS = 5  # which a server adds to each message, at most


def messages_with_memory(
    stored: StoredRequest,
    connection: Connection,
    body: Mapping[str, Any],
    character: Character | None,
    *,
    reserved: int = 0,
) -> tuple[list[dict[str, Any]], str]:
    """Return the messages with what is remembered, and "on", or as they are, and "off" or "failed".

    What is remembered leaves ``reserved`` tokens of the context free.

    In a group, it is what the next speaker knows: the member whom the last message names, else ``character``. If that
    is nobody, nothing is added, since it is unknown what the speaker may know.
    """
    chat, messages = stored.chat, body["messages"]
    speaker = speaker_in(chat, messages, character)
    if chat.is_group and speaker is None:
        return messages, "off"
    try:
        room = context_with_room(connection.context_tokens, room_for_memory(connection, body) - reserved)
        text, sent_ids = _text_of_turn(chat, stored.anchor), _newest_ids(chat, stored.sent_count)
        prompt = assemble(
            PromptRequest(
                chat=chat,
                text=text,
                character=speaker,
                context_tokens=room,
                sent_ids=sent_ids,
                model=connection.model,
            )
        )
        return with_slots(messages, prompt.slots, prompt.macros), "on"
    except Exception:
        # A reply without memory is better than none, whatever failed.
        logger.exception("a call of the proxy goes on without memory", chat_id=str(chat.pk))
        return messages, "failed"


def _newest_ids(chat: Chat, count: int) -> set[UUID]:
    """Return the ids of the visible messages that the client has sent itself: the newest ones."""
    return set(visible_messages(chat).order_by("-index").values_list("pk", flat=True)[:count])


def _text_of_turn(chat: Chat, anchor: UUID) -> str | None:
    """Return the text of the user's turn that the client asks about, or None if it is the last one of the chat."""
    turns = visible_messages(chat).filter(is_user=True).order_by("-index")
    last = turns.values_list("pk", flat=True).first()
    asked = turns.filter(pk=anchor).first() if last not in (None, anchor) else None
    return asked.mes if asked else None


def speaker_in(chat: Chat, messages: Sequence[Document], character: Character | None) -> Character | None:
    """Return who speaks next in a group: the only member whom an instruction at the end names, else ``character``.

    A member without a character gets the one of that name: what they know is kept by character. Return None if nobody
    is a member, and outside groups.
    """
    if not chat.is_group:
        return None
    members = list(chat.participants.select_related("character").order_by("position"))
    read, names = unfolded(messages)
    instruction = naming_instruction(read)
    asked = [member for member in members if member.name == names.asked and names.asked in instruction]
    named = asked or [member for member in members if mentions(instruction, member.name)]
    if len(named) != 1:
        named = [member for member in members if character and is_played_by(member, character)]
    return (named[0].character or character_of_participant(chat.owner_id, chat.pk, named[0].name)) if named else None


def is_played_by(member: Participant, character: Character) -> bool:
    """Return whether a member is this character, or has none yet, and its name."""
    return member.character == character or (member.character is None and member.name == character.name)


def room_for_memory(connection: Connection, body: Mapping[str, Any]) -> int:
    """Return the tokens that the client's messages, its tools and the reply leave of the model's context.

    Once nothing is left, the rest is not counted: a client may send far more than a model reads.
    """
    count = token_counter(connection.model)
    limits = [body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    room = connection.context_tokens - max((limit for limit in limits if type(limit) is int), default=0)
    room -= count(json.dumps(body["tools"])) if body.get("tools") else 0
    for message in body["messages"]:
        if room <= 0:
            return 0
        room -= count(text_of(message)) + MESSAGE_TOKENS
    return max(room, 0)


def with_slots(messages: Sequence[Message], slots: Sequence[FilledSlot], macros: Mapping[str, str]) -> list[Message]:
    """Return the messages with the slots at their positions and depths, and macros replaced in system messages.

    The leading system messages stay first, for the server's prompt cache. A slot whose macro is used is not inserted.
    """
    used = macros_in(text for message in messages for text in _instructions(message)) & set(macros)
    replaced = _replaced(messages, macros)
    leading = leading_instructions(replaced)
    remaining = [filled for filled in slots if filled.slot.macro not in used]
    # A slot must not stand between calls of tools and their results, which servers refuse.
    units: list[Any] = [{"unit": unit} for unit in _units(replaced[leading:])]
    placed: list[Any] = insert_slots(remaining, units)
    following = [message for item in placed for message in item.get("unit", [item])]
    return replaced[:leading] + following


def _instructions(message: Message) -> list[str]:
    """Return the texts of a message in which macros are replaced: those of a system message."""
    if message["role"] not in INSTRUCTION_ROLES:
        return []
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _replaced(messages: Sequence[Message], macros: Mapping[str, str]) -> list[Message]:
    """Return the messages with each macro replaced where it stands first in a system message."""
    texts = [text for message in messages for text in _instructions(message)]
    resolved = iter(resolve_in_order(texts, macros))
    return [_with_texts(message, resolved) for message in messages]


def _with_texts(message: Message, texts: Iterator[str]) -> Message:
    """Return a message with as many of ``texts`` as ``_instructions`` returned for it."""
    count = len(_instructions(message))
    if not count:
        return message
    if isinstance(message["content"], str):
        return {**message, "content": next(texts)}
    parts = [
        {**part, "text": next(texts)} if isinstance(part, dict) and isinstance(part.get("text"), str) else part
        for part in message["content"]
    ]
    return {**message, "content": parts}


def _units(messages: Iterable[Message]) -> list[list[Message]]:
    """Return the messages in groups: results of tools belong to the message before them."""
    units: list[list[Message]] = []
    for message in messages:
        if message["role"] in TOOL_ROLES and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units
