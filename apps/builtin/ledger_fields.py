"""Apply the changes that sentences make to the fields of the state ledger. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.english.words import content_words

LISTS = frozenset({"injuries", "outfit", "carried", "alliances", "hazards"})  # several values at a time
MAX_ITEMS = 5
SEPARATOR = ", "


@dataclass(frozen=True)
class StateChange:
    """Give a field of ``name`` a value, or take it away where it ``ends``; an empty value that ends is all of it."""

    name: str
    kind: str
    field: str
    value: str
    ends: bool = False


def apply(changes: Iterable[StateChange], fields: Mapping[str, str]) -> dict[str, str]:
    """Return ``fields`` after the changes; a field that holds no longer is missing."""
    state = dict(fields)
    for change in changes:
        held = state.pop(change.field, "")
        items = held.split(SEPARATOR) if change.field in LISTS and held else [held] if held else []
        if change.ends:
            items = [item for item in items if change.value and not content_words(item) & content_words(change.value)]
        elif change.field in LISTS:
            others = [item for item in items if item.casefold() != change.value.casefold()]
            items = [*others, change.value][-MAX_ITEMS:]
        else:
            items = [change.value]
        if items:
            state[change.field] = SEPARATOR.join(items)
    return state


def same_value(field: str, one: str, two: str) -> bool:
    """Return whether two values of a field say the same; the order of a list tells nothing."""
    if field in LISTS:
        return set(one.casefold().split(SEPARATOR)) == set(two.casefold().split(SEPARATOR))
    return one.casefold() == two.casefold()
