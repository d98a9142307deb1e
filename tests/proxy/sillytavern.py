"""The prompts that SillyTavern 1.18 sends for a group of characters, as its source "Custom" has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

USER = "Anna"
MEMBERS = ("Mira", "Old Jörg")
CARDS = {"Mira": "Mira keeps the lock.", "Old Jörg": "Old Jörg fishes at night."}
GREETINGS = {"Mira": "*Mira looks up.* Come in.", "Old Jörg": "*Old Jörg nods.*\n\nHe says nothing."}
NOTE = "Keep the river in the scene."  # the author's note
EXAMPLES = [("example_user", "Anna: Is it late?"), ("example_assistant", "Mira: It is never late here.")]


@dataclass(frozen=True)
class Line:
    role: str
    content: str
    name: str = ""


@dataclass
class GroupChat:
    """A chat of a group in SillyTavern. ``said`` are names and texts.

    ``mode`` is how prompts are processed: merge, semi, strict, each also with ``_tools``, or single. ``names`` is how
    they tell who speaks: none, default, completion or content. ``note_depth`` is how many messages follow the author's
    note, ``last`` are the post-history instructions.
    """

    mode: str = ""
    names: str = "default"
    note_depth: int = 2
    last: str = ""
    said: list[tuple[str, str]] = field(default_factory=lambda: list(GREETINGS.items()))

    def prompt(self, asked: str) -> list[Any]:
        """Return the messages of a request for the next reply of a member."""
        history = [self._line(name, text) for name, text in self.said]
        history.insert(len(history) - self.note_depth, Line("system", NOTE))
        lines = [
            Line("system", f"Write {asked}'s next reply in a fictional chat between {asked} and {USER}."),
            Line("system", CARDS[asked]),
            Line("system", "[Example Chat]"),
            *(Line("system", text, name) for name, text in EXAMPLES),
            Line("system", f"[Start a new group chat. Group members: {', '.join(MEMBERS)}]"),
            *history,
            Line("system", f"[Write the next reply only as {asked}.]"),
            *([Line("system", self.last)] if self.last else []),
        ]
        return [
            {"role": line.role, "content": line.content} | ({"name": line.name} if line.name else {})
            for line in self._processed(lines, asked)
        ]

    def _line(self, name: str, text: str) -> Line:
        is_user = name == USER
        if self.names == "content" or (self.names == "default" and not is_user):
            text = f"{name}: {text}"
        sent = re.sub(r"[^a-zA-Z0-9_]", "_", name) if self.names == "completion" else ""
        return Line("user" if is_user else "assistant", text, sent)

    def _processed(self, lines: Sequence[Line], asked: str) -> list[Line]:
        if not self.mode:
            return list(lines)
        is_single = self.mode == "single"
        merged = _merged([_without_name(line, asked, is_single) for line in lines])
        if self.mode.startswith("merge"):
            return merged
        merged = [
            replace(line, role="user") if place and line.role == "system" else line for place, line in enumerate(merged)
        ]
        if self.mode.startswith("strict") and merged[1].role != "user":
            merged.insert(1, Line("user", "Let's get started."))
        return _merged(merged)


def _without_name(line: Line, asked: str, is_single: bool) -> Line:
    """Return a line whose name stands before its text. In a prompt that is one message, each has one."""
    text = line.content
    if line.name and line.role != "system" and not text.startswith(f"{line.name}: "):
        text = f"{line.name}: {text}"
    if is_single and line.role == "assistant" and not text.startswith(tuple(f"{name}: " for name in MEMBERS)):
        text = f"{asked}: {text}"
    if is_single and line.role == "user" and not text.startswith(f"{USER}: "):
        text = f"{USER}: {text}"
    return Line("user" if is_single else line.role, text)


def _merged(lines: Sequence[Line]) -> list[Line]:
    merged: list[Line] = []
    for line in lines:
        if merged and merged[-1].role == line.role:
            merged[-1] = Line(line.role, f"{merged[-1].content}\n\n{line.content}")
        else:
            merged.append(line)
    return merged
