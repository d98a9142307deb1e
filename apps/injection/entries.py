"""What may go into a slot: a memory, or a passage of what was said, with why it is there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Entry:
    """One line of a slot.

    ``score`` and ``signals`` are the search's where ``triggered``, that is where the turn's words found it; else
    its cosine with the turn. ``said_in`` is the message that it came from.
    """

    id: UUID
    tier: str
    kind: str
    line: str
    usefulness: float
    score: float
    why: str
    said_in: UUID | None
    signals: Mapping[str, float] = field(default_factory=dict)
    triggered: bool = False

    def document(self, slot: str) -> dict[str, Any]:
        """As a recall keeps it."""
        return {
            "id": str(self.id),
            "score": round(self.score, 4),
            "signals": {name: round(value, 4) for name, value in self.signals.items()},
            "tier": self.tier,
            "kind": self.kind,
            "slot": slot,
            "text": self.line,
            "why": self.why,
            "message": str(self.said_in) if self.said_in else None,
            "triggered": self.triggered,
        }


@dataclass(frozen=True)
class EditedLine:
    """A line of a stored recall, as useful as it is early."""

    line: str
    usefulness: float
