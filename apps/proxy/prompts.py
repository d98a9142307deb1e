"""Put slots into a client's messages. Nothing here reads or writes the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.injection.prompts.filled_slots import FilledSlot
from apps.injection.prompts.history import insert_slots
from apps.proxy.conversation import leading_instructions

Message = dict[str, Any]


def with_memory(messages: Sequence[Message], slots: Sequence[FilledSlot], macros: Mapping[str, str]) -> list[Message]:
    """Return the messages with the slots at their positions and depths, and macros replaced in system messages.

    The leading system messages stay first, for the server's prompt cache. A slot whose macro is used is not inserted.
    """
    used = {macro for macro in macros for message in messages if _uses(message, macro)}
    replaced = [_replaced(message, used, macros) for message in messages]
    leading = leading_instructions(replaced)
    remaining = [filled for filled in slots if filled.slot.macro not in used]
    # A slot must not stand between calls of tools and their results, which servers refuse.
    units: list[Any] = [{"unit": unit} for unit in _units(replaced[leading:])]
    placed: list[Any] = insert_slots(remaining, units)
    following = [message for item in placed for message in item.get("unit", [item])]
    return replaced[:leading] + following


def _uses(message: Message, macro: str) -> bool:
    return message["role"] in ("system", "developer") and f"{{{{{macro}}}}}" in str(message.get("content"))


def _replaced(message: Message, used: Iterable[str], macros: Mapping[str, str]) -> Message:
    content = message.get("content")
    names = [macro for macro in used if _uses(message, macro)]
    if not names:
        return message
    if isinstance(content, list):
        return {**message, "content": [_replaced_part(part, names, macros) for part in content]}
    return {**message, "content": _replace_macros(str(content), names, macros)}


def _replaced_part(part: Any, names: Iterable[str], macros: Mapping[str, str]) -> Any:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**part, "text": _replace_macros(part["text"], names, macros)}
    return part


def _replace_macros(text: str, names: Iterable[str], macros: Mapping[str, str]) -> str:
    for name in names:
        text = text.replace(f"{{{{{name}}}}}", macros[name])
    return text


def _units(messages: Iterable[Message]) -> list[list[Message]]:
    """Return the messages in groups: results of tools belong to the message before them."""
    units: list[list[Message]] = []
    for message in messages:
        if message["role"] == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units
