"""Where an import writes to, and what it has written."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from apps.chats.models import Character, Chat, Message
from apps.exchange.memories.reading.found import Span
from apps.memories.operations.entities import EntityRegistry

MAX_SOURCES = 10  # messages that a memory is linked to: the last ones of its range

# What was written, as people read it.
LABELS = {
    "memories": "memories",
    "entities": "names",
    "arcs": "arcs",
    "scenes": "scenes",
    "texts": "texts",
    "knowledge": "entries of who knows what",
    "states": "states",
    "relationships": "relationships",
}


@dataclass
class ImportTarget:
    """A chat with its character, or a character. The caller holds the lock of its row.

    ``program`` is the name of the program whose document is read. ``linked``: positions in it are those of the chat.
    """

    owner_id: UUID
    chat: Chat | None
    character: Character | None
    program: str
    linked: bool = True
    written: Counter[str] = field(default_factory=Counter)  # by what was written, such as "memories"
    memory_ids: dict[str, UUID] = field(default_factory=dict)  # by the key in the document

    @cached_property
    def registry(self) -> EntityRegistry:
        """Return the entities of the character, or else of the chat."""
        return EntityRegistry(self.owner_id, self.character, self.chat)

    def messages(self, spans: Iterable[Span | None]) -> dict[int, Message]:
        """Return the chat's messages that sources of these ranges need, by index."""
        wanted = {index for span in spans if span for index in source_indexes(span)}
        if self.chat is None or not wanted or not self.linked:
            return {}
        rows = Message.objects.for_owner(self.owner_id).filter(chat=self.chat, index__in=wanted)
        return {message.index: message for message in rows.with_swipes()}

    def summary(self) -> str:
        """Return what was written in one sentence."""
        parts = [f"{count} {label}" for name, label in LABELS.items() if (count := self.written[name])]
        known = self.written["known"]
        text = ", ".join(parts) if parts else "nothing new"
        return f"read {text}{f'; {known} known already' if known else ''}."


def source_indexes(span: Span | None) -> range:
    """Return the indexes of the messages of a range that are its sources."""
    if span is None:
        return range(0)
    first, last = span
    return range(max(first, last - MAX_SOURCES + 1), last + 1)
