"""Hold the blocks before the conversation for some turns, so that a provider's cache keeps them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.prompts.slots.entries import Entry

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
