"""Put slots into a client's messages. Nothing here reads or writes the database."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apps.chats.macros import macros_in, resolve_in_order
from apps.prompts.assembly.history import insert_slots
from apps.prompts.slots.filled_slots import FilledSlot
from apps.proxy.requests.turns import INSTRUCTION_ROLES, TOOL_ROLES, leading_instructions

Message = dict[str, Any]


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
