"""Compare two recalls of a turn: which entries came, went or changed their place. Without database access."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Move:
    """An entry that both recalls have, at another place. Places count from 1."""

    text: str
    before: int
    after: int


@dataclass(frozen=True)
class Comparison:
    """What a re-run changed: the texts of entries that ``came`` and ``went``, and those that ``moved``."""

    came: list[str]
    went: list[str]
    moved: list[Move]

    @property
    def is_empty(self) -> bool:
        return not (self.came or self.went or self.moved)


def compare(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Comparison:
    """Compare the entries of two recalls, best first, by their ids. Entries that only close a gap did not move."""
    places_before, places_after = _places(before, after), _places(after, before)
    moves = [
        Move(item["text"], places_before[item["id"]], places_after[item["id"]])
        for item in after
        if item["id"] in places_before and places_before[item["id"]] != places_after[item["id"]]
    ]
    return Comparison(
        came=[item["text"] for item in after if item["id"] not in places_before],
        went=[item["text"] for item in before if item["id"] not in places_after],
        moved=moves,
    )


def _places(items: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the places of the entries that both have, counted among these, by id."""
    shared = {item["id"] for item in others}
    return {pk: place for place, pk in enumerate((item["id"] for item in items if item["id"] in shared), 1)}
