"""Put slots into a client's messages. Nothing here reads or writes the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.chats.macros import macros_in, resolve_macros
from apps.injection.prompts.filled_slots import FilledSlot
from apps.injection.prompts.history import insert_slots
from apps.proxy.conversation import INSTRUCTION_ROLES, TOOL_ROLES, leading_instructions

Message = dict[str, Any]


def with_memory(messages: Sequence[Message], slots: Sequence[FilledSlot], macros: Mapping[str, str]) -> list[Message]:
    """Return the messages with the slots at their positions and depths, and macros replaced in system messages.

    The leading system messages stay first, for the server's prompt cache. A slot whose macro is used is not inserted.
    """
    used = macros_in(text for message in messages for text in _instructions(message)) & set(macros)
    replaced = [_replaced(message, macros) for message in messages]
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


def _replaced(message: Message, macros: Mapping[str, str]) -> Message:
    if not macros_in(_instructions(message)) & set(macros):
        return message
    content = message["content"]
    if isinstance(content, list):
        return {**message, "content": [_replaced_part(part, macros) for part in content]}
    return {**message, "content": resolve_macros(content, macros)}


def _replaced_part(part: Any, macros: Mapping[str, str]) -> Any:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**part, "text": resolve_macros(part["text"], macros)}
    return part


def _units(messages: Iterable[Message]) -> list[list[Message]]:
    """Return the messages in groups: results of tools belong to the message before them."""
    units: list[list[Message]] = []
    for message in messages:
        if message["role"] in TOOL_ROLES and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units
