"""Represent changes of the state ledger and apply them to an entity's fields. Without database access."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.english.words import content_words

LIST_FIELDS = frozenset({"injuries", "outfit", "carried", "alliances", "hazards"})  # several values at a time
MAX_ITEMS = 5
SEPARATOR = ", "


@dataclass(frozen=True)
class StateChange:
    """Change of a field of the entity ``name``: add ``value``, or remove it if ``removes`` is true.

    Removing an empty value clears the field.
    """

    name: str
    kind: str
    field: str
    value: str
    removes: bool = False


def apply_changes(changes: Iterable[StateChange], fields: Mapping[str, str]) -> dict[str, str]:
    """Return ``fields`` after the changes, without the fields that were cleared."""
    state = dict(fields)
    for change in changes:
        value = state.pop(change.field, "")
        items = value.split(SEPARATOR) if change.field in LIST_FIELDS and value else [value] if value else []
        if change.removes:
            items = [item for item in items if change.value and not content_words(item) & content_words(change.value)]
        elif change.field in LIST_FIELDS:
            others = [item for item in items if item.casefold() != change.value.casefold()]
            items = [*others, change.value][-MAX_ITEMS:]
        else:
            items = [change.value]
        if items:
            state[change.field] = SEPARATOR.join(items)
    return state


def same_value(field: str, value: str, other: str) -> bool:
    """Return whether two values of a field are equal, ignoring case and the order of list items."""
    if field in LIST_FIELDS:
        return set(value.casefold().split(SEPARATOR)) == set(other.casefold().split(SEPARATOR))
    return value.casefold() == other.casefold()
