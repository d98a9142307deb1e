"""Entries of slots: a memory or a passage of a message, with the reason for its selection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

MESSAGES_TIER = "messages"  # the tier of passages


@dataclass(frozen=True)
class Entry:
    """One line of a slot.

    ``triggered`` entries were found by a search for the turn's text and have its ``score`` and ``signals``, or have a
    trigger word in the turn. Entries that were not found have the cosine similarity to the turn. ``source_message`` is
    the id of the message they come from. ``by_person``: a person wrote, edited or pinned the entry.
    """

    id: UUID
    tier: str
    kind: str
    line: str
    priority: float
    score: float
    why: str
    source_message: UUID | None
    signals: Mapping[str, float] = field(default_factory=dict)
    triggered: bool = False
    by_person: bool = False

    @classmethod
    def from_document(cls, item: Mapping[str, Any], priority: float) -> Self:
        """Return the entry of which ``document`` returned ``item``."""
        names = ("tier", "kind", "score", "why", "signals", "triggered")
        source = UUID(item["message"]) if item["message"] else None
        fields = {name: item[name] for name in names}
        return cls(UUID(item["id"]), line=item["text"], priority=priority, source_message=source, **fields)

    def document(self, slot: str) -> dict[str, Any]:
        """Return the entry as a JSON object for ``Recall.memories``."""
        return {
            "id": str(self.id),
            "score": round(self.score, 4),
            "signals": {name: round(value, 4) for name, value in self.signals.items()},
            "tier": self.tier,
            "kind": self.kind,
            "slot": slot,
            "text": self.line,
            "why": self.why,
            "message": str(self.source_message) if self.source_message else None,
            "triggered": self.triggered,
        }
