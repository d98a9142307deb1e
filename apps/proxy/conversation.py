"""Read the messages of a chat completion request. Nothing here reads or writes the database."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

INSTRUCTION_ROLES = ("system", "developer")
ONLY_IMAGES = "[image]"  # stored for a turn that has no text
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """A user's or an assistant's turn. ``tools`` are the calls that the assistant made, with their results."""

    is_user: bool
    text: str
    tools: tuple[dict[str, Any], ...] = ()


def leading_instructions(messages: Sequence[Document]) -> int:
    """Return the number of system messages before the first turn."""
    turns = (number for number, message in enumerate(messages) if message["role"] not in INSTRUCTION_ROLES)
    return next(turns, len(messages))


def opening_of(messages: Sequence[Document]) -> str:
    """Return the text of the leading system messages."""
    return "\n\n".join(text_of(message) for message in messages[: leading_instructions(messages)])


def turns_of(messages: Sequence[Document]) -> list[Turn]:
    """Return the turns of a request, oldest first, without system messages and empty turns.

    Calls of tools, their results and the reply that follows them are one turn of the assistant.
    """
    turns: list[Turn] = []
    in_tools = False
    for message in messages:
        role, text = message["role"], text_of(message) or (ONLY_IMAGES if _has_image(message) else "")
        if role in INSTRUCTION_ROLES:
            continue
        calls = tuple(message.get("tool_calls") or ())
        if in_tools and role != "user":
            turns[-1] = _continued(turns[-1], role, text, message, calls)
            in_tools = role == "tool" or bool(calls)
        elif text.strip() or calls:
            turns.append(Turn(role == "user", text, calls))
            in_tools = bool(calls)
    return turns


def _continued(turn: Turn, role: str, text: str, message: Document, calls: tuple[dict[str, Any], ...]) -> Turn:
    """Return a turn with the result of a tool, or with the assistant's text or calls after it."""
    if role != "tool":
        return replace(turn, text=joined(turn.text, text), tools=turn.tools + calls)
    tools = [{**call, "result": text} if call.get("id") == message.get("tool_call_id") else call for call in turn.tools]
    return replace(turn, tools=tuple(tools))


def joined(first: str, second: str) -> str:
    """Return two texts of one turn as one."""
    return "\n\n".join(text for text in (first, second) if text)


def text_of(message: Document) -> str:
    """Return the text of a message, of which images and other parts are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _has_image(message: Document) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


def normalized(text: str) -> str:
    """Return the text as it is compared: clients trim texts and change their line breaks."""
    return " ".join(unicodedata.normalize("NFC", text).split())
