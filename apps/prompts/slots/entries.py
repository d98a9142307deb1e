"""Entries of slots: a memory or a passage of a message; slots filled with them; and which a slot holds for some turns.

A block before the conversation that is held stays the same, so that a provider's cache keeps it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from apps.prompts.slots.definitions import Slot

MESSAGES_TIER = "messages"  # the tier of passages


@dataclass(frozen=True)
class Entry:
    """One line of a slot.

    ``triggered`` entries were found by a search for the turn's text and have its ``score`` and ``signals``, or have a
    trigger word in the turn. Entries that were not found have the cosine similarity to the turn. ``source_message`` is
    the id of the message they come from. ``by_person``: a person wrote, edited or pinned the entry. ``mark`` stands
    after the line in the prompt, and says in the chat's language that it is a guess: lines are compared without it.
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
    mark: str = ""

    @property
    def written(self) -> str:
        """Return the line as it stands in the prompt."""
        return f"{self.line}{self.mark}"

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


@dataclass(frozen=True)
class FilledSlot:
    """A slot with its text in the prompt.

    ``tokens`` is the number of tokens of the text, ``full_tokens`` that of all entries, ``trimmed`` the number of
    entries left out, ``budget`` the maximum number of tokens. ``left_out`` are the entries left out. ``edited``: a
    person edited the text, which is used whole and may have more tokens than the budget.
    """

    slot: Slot
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
    budget: int
    left_out: Sequence[Entry] = ()
    edited: bool = False

    @property
    def room(self) -> int:
        """Return the number of tokens that the text may take."""
        return max(self.budget, self.tokens) if self.edited else self.budget


Held = Mapping[str, Any]  # ``turn``: number of the user turn of the last refresh; ``entries``: the keys of its entries


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
        """Return the entries that stay candidates of a slot: those that were held if their period isn't over, else all.

        All are returned also if an entry that was held has changed or is gone, and if a person has added or changed
        one.
        """
        held = self.held.get(slot)
        if held is None or not self._is_under_way(held):
            return list(entries)
        keys = {key_of(entry): entry for entry in entries}
        kept = set(held["entries"])
        is_changed = not kept <= keys.keys() or any(entry.by_person for key, entry in keys.items() if key not in kept)
        return list(entries) if is_changed else [entry for entry in entries if key_of(entry) in kept]

    def after(self, kept: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
        """Return what to store for the next prompt, after one in which the slots had these entries."""
        stored: dict[str, Any] = {}
        for slot, entries in kept.items():
            held, keys = self.held.get(slot), [key_of(entry) for entry in entries]
            is_same = held is not None and list(held["entries"]) == keys and self._is_under_way(held)
            stored[slot] = dict(held) if held is not None and is_same else {"turn": self.turn, "entries": keys}
        return stored

    def _is_under_way(self, held: Held) -> bool:
        return 0 <= self.turn - int(held["turn"]) < self.period
