"""Compare two recalls of a turn by their entries. Without database access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

Document = Mapping[str, Any]  # an entry of ``Recall.memories``


@dataclass(frozen=True)
class MovedEntry:
    """An entry of both recalls in another slot, or at another place among those of both. Places begin at 1."""

    entry: Document
    slot_before: str
    before: int
    after: int

    @property
    def changed_slot(self) -> bool:
        return self.slot_before != str(self.entry["slot"])


@dataclass(frozen=True)
class RecallComparison:
    """What came into a recall, what went, and what has another place or another text."""

    came: list[Document]
    went: list[Document]
    moved: list[MovedEntry]
    reworded: list[Document]

    @property
    def is_equal(self) -> bool:
        return not (self.came or self.went or self.moved or self.reworded)

    @property
    def counts(self) -> str:
        """Return in words how many entries came, went, and changed; not those of which there are none."""
        counts = (
            (gettext("%(count)s came"), len(self.came)),
            (gettext("%(count)s went"), len(self.went)),
            (gettext("%(count)s changed place"), len(self.moved)),
            (gettext("%(count)s changed text"), len(self.reworded)),
        )
        return ", ".join(words % {"count": count} for words, count in counts if count)


def compare(before: Sequence[Document], after: Sequence[Document]) -> RecallComparison:
    """Compare the entries of two recalls, each in its order."""
    old, new = _by_key(before), _by_key(after)
    old_places = {key: place for place, key in enumerate((key for key in old if key in new), 1)}
    new_places = {key: place for place, key in enumerate((key for key in new if key in old), 1)}
    moves = [MovedEntry(new[key], old[key]["slot"], old_places[key], place) for key, place in new_places.items()]
    return RecallComparison(
        came=[entry for key, entry in new.items() if key not in old],
        went=[entry for key, entry in old.items() if key not in new],
        moved=[move for move in moves if move.changed_slot or move.before != move.after],
        reworded=[entry for key, entry in new.items() if key in old and old[key]["text"] != entry["text"]],
    )


def _by_key(entries: Sequence[Document]) -> dict[tuple[str, str], Document]:
    # A scene has the id of its last message, and that message may have been recalled itself.
    return {(entry["tier"], entry["id"]): entry for entry in entries}
