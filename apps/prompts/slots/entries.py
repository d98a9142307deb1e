"""Entries of slots: a memory or a passage of a message, and which of them a slot holds for some turns.

A block before the conversation that is held stays the same, so that a provider's cache keeps it.
"""

import hashlib
from collections.abc import Mapping, Sequence
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


Held = Mapping[str, Any]  # ``turn``: number of the user turn of the last refresh; ``entries``: the keys of its entries


def hold(held: Held | None, entries: Sequence[Entry], turn: int, period: int) -> list[Entry]:
    """Return the entries that were held if their period isn't over, else all.

    All are returned also if an entry that was held has changed or is gone, and if a person has added or changed one.
    """
    if held is None or not 0 <= turn - held["turn"] < period:
        return list(entries)
    keys = {key_of(entry): entry for entry in entries}
    kept = set(held["entries"])
    is_changed = not kept <= keys.keys() or any(entry.by_person for key, entry in keys.items() if key not in kept)
    return list(entries) if is_changed else [entry for entry in entries if key_of(entry) in kept]


def renewed(held: Held | None, entries: Sequence[Entry], turn: int, period: int) -> dict[str, Any]:
    """Return what to store for the next prompt, in which the slot had ``entries``."""
    keys = [key_of(entry) for entry in entries]
    if held is not None and list(held["entries"]) == keys and 0 <= turn - held["turn"] < period:
        return dict(held)
    return {"turn": turn, "entries": keys}


def key_of(entry: Entry) -> str:
    """Return a short hash of an entry's id and text."""
    return hashlib.sha256(f"{entry.id}\n{entry.line}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Holding:
    """What slots held in the last prompt, the number of the present user turn, and the refresh period in turns."""

    held: Mapping[str, Held]
    turn: int
    period: int

    def entries(self, slot: str, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that stay candidates of a slot."""
        return hold(self.held.get(slot), entries, self.turn, self.period)

    def after(self, kept: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
        """Return what to store for the next prompt, after one in which the slots had these entries."""
        return {name: renewed(self.held.get(name), items, self.turn, self.period) for name, items in kept.items()}
