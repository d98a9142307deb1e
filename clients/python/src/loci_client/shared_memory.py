"""The local copy of a memory that several instances share, with the writes that are not yet pushed. Does no I/O."""

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

MAX_ENTRIES = 1000  # of one push
PARTS = ("identity", "memories", "tombstones")


@dataclass
class SharedMemory:
    """What instance ``name`` knows. ``entries`` are documents of the API, by part and id, or category and filename."""

    name: str
    counter: int = 0
    since: dict[str, int] | None = None
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)

    def write(self, key: str, document: dict[str, Any]) -> None:
        """Store a write of this instance, to be pushed. It has seen what is here, and is later by its own counter."""
        self.counter += 1
        clock = dict(self.entries.get(key, {}).get("clock", {})) | {self.name: self.counter}
        self.entries[key] = document | {"clock": clock, "instance": self.name}
        if key not in self.pending:
            self.pending.append(key)

    def present(self) -> dict[str, str]:
        """Return the texts of the memories that are not deleted, by id."""
        return {entry["id"]: entry["text"] for entry in self.entries.values() if "text" in entry}

    def bodies(self) -> Iterator[tuple[dict[str, dict[str, Any]], dict[str, Any]]]:
        """Yield bodies of pushes of all that is pending, each with its entries by key."""
        for start in range(0, len(self.pending), MAX_ENTRIES):
            sent = {key: self.entries[key] for key in self.pending[start : start + MAX_ENTRIES]}
            body: dict[str, Any] = {part: [] for part in PARTS}
            for entry in sent.values():
                body[part_of(entry)].append(entry)
            yield sent, body | {"instance": self.name, "clock": {self.name: self.counter}}

    def forget_pushed(self, sent: dict[str, dict[str, Any]]) -> None:
        """Mark entries as pushed. One that was written again meanwhile stays pending."""
        self.pending = [key for key in self.pending if sent.get(key) is not self.entries[key]]

    def take_page(self, page: dict[str, Any]) -> None:
        """Take over a page of a pull. What is pending stays: the server resolves it when it is pushed."""
        if self.since is None:
            self._go_on_from(page["clock"].get(self.name, 0))
        for part in PARTS:
            for entry in page[part]:
                key = key_of(entry)
                if key not in self.pending:
                    self.entries[key] = entry
        self.since = page["clock"]

    def _go_on_from(self, counter: int) -> None:
        """Raise the counters of writes before the first pull: the server knows this instance from before."""
        for key in self.pending:
            self.entries[key]["clock"][self.name] += counter
        self.counter += counter

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def key_of(entry: dict[str, Any]) -> str:
    """Return the key of a document of any part."""
    return f"identity/{entry['category']}/{entry['filename']}" if "category" in entry else f"memory/{entry['id']}"


def part_of(entry: dict[str, Any]) -> str:
    """Return the part of a push that a document belongs to."""
    if "kind" in entry:
        return "tombstones"
    return "identity" if "content" in entry else "memories"


def new_memory(text: str, *, tier: str = "long_term", period: str | None = None) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "tier": tier, "period": period, "text": text, "updated_at": now()}


def tombstone_of(entry: dict[str, Any]) -> dict[str, Any]:
    if "category" in entry:
        return {"kind": "identity", "category": entry["category"], "filename": entry["filename"], "at": now()}
    return {"kind": "memory", "id": entry["id"], "at": now()}


def now() -> str:
    return datetime.now(UTC).isoformat()
