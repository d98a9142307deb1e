"""Read the turns of a chat completion request. Nothing here reads or writes the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.llm.replies.thinking import split_thinking

INSTRUCTION_ROLES = ("system", "developer")
TOOL_ROLES = ("tool", "function")
WITHOUT_TEXT = {"image_url": "[image]", "input_audio": "[audio]"}  # stored for a turn of such parts alone
OTHER_PART = "[attachment]"
MAX_NAME_LENGTH = 200  # characters, as stored
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """A user's or an assistant's turn. ``tools`` are the calls that the assistant made, with their results.

    ``name`` is who speaks, if the client tells.
    """

    is_user: bool
    text: str
    tools: tuple[dict[str, Any], ...] = ()
    name: str = ""


def leading_instructions(messages: Sequence[Document]) -> int:
    """Return the number of system messages before the first turn."""
    turns = (number for number, message in enumerate(messages) if message["role"] not in INSTRUCTION_ROLES)
    return next(turns, len(messages))


def opening_of(messages: Sequence[Document]) -> str:
    """Return the text of the leading system messages."""
    return "\n\n".join(text_of(message) for message in messages[: leading_instructions(messages)])


def turns_of(messages: Sequence[Document]) -> list[Turn]:
    """Return the turns of a request, oldest first, without system messages, empty turns and the model's reasoning.

    Calls of tools, their results and the reply that follows them are one turn of the assistant.
    """
    turns: list[_Turn] = []
    in_tools = False
    for message in messages:
        role = message["role"]
        if role in INSTRUCTION_ROLES:
            continue
        text = text_of(message) or _parts_without_text(message)
        text = split_thinking(text)[0] if role == "assistant" else text
        calls = _calls(message)
        if in_tools and role != "user":
            turns[-1].add(message, text, calls)
            in_tools = role in TOOL_ROLES or bool(calls)
        elif text.strip() or calls:
            turns.append(_Turn(is_user=role == "user", name=_name_of(message)))
            turns[-1].add_words(text, calls)
            in_tools = bool(calls)
    return [turn.whole() for turn in turns]


class _Turn:
    """A turn whose messages are being read: an agent's may have thousands of calls."""

    def __init__(self, *, is_user: bool, name: str) -> None:
        self._is_user = is_user
        self._name = name
        self._texts: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._places: dict[str, list[int]] = {}  # of calls, by their ids, which may be any JSON

    def add(self, message: Document, text: str, calls: Sequence[dict[str, Any]]) -> None:
        """Add the result of a tool, or the assistant's text or calls after it."""
        if message["role"] == "function":
            # An older call has no id: the result is that of the last call without one.
            self._add_result([len(self._calls) - 1], text)
        elif message["role"] == "tool":
            self._add_result(self._places.get(repr(message.get("tool_call_id")), ()), text)
        else:
            self.add_words(text, calls)

    def add_words(self, text: str, calls: Sequence[dict[str, Any]]) -> None:
        self._texts.append(text)
        for place, call in enumerate(calls, len(self._calls)):
            self._places.setdefault(repr(call.get("id")), []).append(place)
        self._calls += calls

    def _add_result(self, places: Iterable[int], text: str) -> None:
        for place in places:
            self._calls[place] = {**self._calls[place], "result": text}

    def whole(self) -> Turn:
        return Turn(self._is_user, joined(*self._texts), tuple(self._calls), self._name)


def _name_of(message: Document) -> str:
    """Return the name of who speaks: that of a function is none."""
    name = message.get("name") if message["role"] in ("user", "assistant") else None
    return name.strip()[:MAX_NAME_LENGTH] if isinstance(name, str) else ""


def _calls(message: Document) -> tuple[dict[str, Any], ...]:
    """Return the calls of tools in a message, of which older clients send one as ``function_call``."""
    older = message.get("function_call")
    return (*(message.get("tool_calls") or ()), *([{"function": older}] if isinstance(older, dict) else []))


def joined(*texts: str) -> str:
    """Return texts of one turn as one."""
    return "\n\n".join(filter(None, texts))


def text_of(message: Document) -> str:
    """Return the text of a message, of which images and other parts are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _parts_without_text(message: Document) -> str:
    """Return what is stored for a message without text: what its first part is, or nothing."""
    content = message.get("content")
    kinds = [part.get("type") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    kinds = [kind for kind in kinds if kind != "text"]
    return WITHOUT_TEXT.get(str(kinds[0]), OTHER_PART) if kinds else ""
