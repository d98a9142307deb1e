"""The parsed form of all chat formats, and the report of what was skipped or repaired."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.chats.message_data.parsed import ParsedMessage
from apps.common.stored_texts import joined_texts

# A report lists this many skipped lines and counts the rest: a damaged file may hold millions.
MAX_LISTED_SKIPS = 1000


class UnreadableFile(ValueError):
    """The file as a whole is not a chat. `reason` is a message for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownFormat(UnreadableFile):
    """The file is in no format that is known. Which ones are is added by who raises it to the user."""


@dataclass(frozen=True)
class ParsedHeader:
    """The fields of a chat as a whole. Names are empty if the file has none."""

    user_name: str
    character_name: str
    created_at: dt.datetime | None
    metadata: dict[str, Any]
    layout: str
    lorebooks: Sequence[Any] = ()  # as the file has them


@dataclass
class ImportReport:
    """The number of messages read, and what was skipped or repaired.

    Positions count lines, or in formats that don't have one message per line, the `unit` (such as "message").
    """

    format: str
    unit: str = "line"
    messages: int = 0
    skipped: int = 0
    skipped_lines: list[dict[str, Any]] = field(default_factory=list)
    _warnings: dict[str, tuple[str, int]] = field(default_factory=dict)

    def skip(self, line: int, reason: str) -> None:
        """Record that line number `line`, counted from 1, was skipped."""
        self.skipped += 1
        if self.skipped <= MAX_LISTED_SKIPS:
            if self.unit != "line":
                reason = joined_texts(f"{self.unit.capitalize()} {line}:", reason)
            self.skipped_lines.append({"line": line, "reason": reason})

    def warn(self, line: int, text: str) -> None:
        """Record a repair on `line`. The same text is listed once, with a count."""
        self._add(text, f"{self.unit} {line}", 1)

    def warn_message(self, number: int, text: str) -> None:
        """Record a repair of message ``number``, counted from 1, where its position in the file isn't known."""
        self._add(text, f"message {number}", 1)

    def note(self, text: str) -> None:
        """Record something that concerns the file as a whole."""
        self._add(text, "", 1)

    def include(self, other: "ImportReport") -> None:
        """Add the skips and warnings of `other`, the report of a part of the same file."""
        self.skipped += other.skipped
        self.skipped_lines += other.skipped_lines[: max(MAX_LISTED_SKIPS - len(self.skipped_lines), 0)]
        for text, (first, count) in other._warnings.items():
            self._add(text, first, count)

    def _add(self, text: str, position: str, count: int) -> None:
        if text in self._warnings or len(self._warnings) < MAX_LISTED_SKIPS:
            first, previous = self._warnings.get(text, (position, 0))
            self._warnings[text] = (first, previous + count)

    @property
    def warnings(self) -> list[str]:
        """Return the texts of the warnings with their counts and first positions."""
        warnings = [_warning(text, first, count) for text, (first, count) in self._warnings.items()]
        if self.skipped > MAX_LISTED_SKIPS:
            warnings.append(f"{self.skipped - MAX_LISTED_SKIPS} more {self.unit}s were skipped.")
        return warnings

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON: format, messages, skipped_lines, warnings."""
        return {
            "format": self.format,
            "messages": self.messages,
            "skipped_lines": self.skipped_lines,
            "warnings": self.warnings,
        }


def _warning(text: str, first: str, count: int) -> str:
    if not first:
        return text if count == 1 else joined_texts(text, f"({count} times)")
    return joined_texts(text, f"({first})" if count == 1 else f"({count} times, first on {first})")


@dataclass(frozen=True)
class ParsedBranch:
    """Another continuation of a chat: `messages` follow the first `kept` messages of its parent.

    `parent` is the position of the branch from which it leaves in `branches` of the chat; None is the chat itself.
    """

    parent: int | None
    kept: int
    messages: list[ParsedMessage]


@dataclass(frozen=True)
class ParsedGroup:
    """A group as its program stores it. `members` are the names, in order, with whether they are muted."""

    name: str
    members: dict[str, bool]


@dataclass(frozen=True)
class ParsedChat:
    """A chat with its header and an iterator that reads its messages from the file.

    The report is complete after the last message. `title` is empty if the file has none. A branch comes after its
    parent.
    """

    header: ParsedHeader
    messages: Iterator[ParsedMessage]
    report: ImportReport
    title: str = ""
    branches: Sequence[ParsedBranch] = ()
    group: ParsedGroup | None = None
