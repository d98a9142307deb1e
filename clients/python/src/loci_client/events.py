"""Parse server-sent events."""

import json
import re
from dataclasses import dataclass

# A \r at the end of the text may be the first half of a \r\n.
LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


@dataclass(frozen=True)
class Event:
    name: str
    data: str


class EventParser:
    """Parse a stream that arrives in pieces of text."""

    def __init__(self) -> None:
        self._rest = ""
        self._name = "message"
        self._data: list[str] = []

    def feed(self, text: str) -> list[Event]:
        """Return the events that this piece of text completes."""
        *lines, self._rest = LINE_END.split(self._rest + text)
        return [event for line in lines if (event := self._take(line))]

    def _take(self, line: str) -> Event | None:
        if line == "":
            return self._end()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _end(self) -> Event | None:
        event = Event(self._name, "\n".join(self._data)) if self._data else None
        self._name, self._data = "message", []
        return event


def concerns(event: Event, chat_id: str) -> bool:
    """Return True if the event says that the chat was, or may have been, written, or that a memory was deleted."""
    if event.name != "chat":
        return event.name in ("resync", "memories")
    try:
        word = json.loads(event.data)
    except ValueError:
        return False
    return isinstance(word, dict) and word.get("chat") == chat_id
