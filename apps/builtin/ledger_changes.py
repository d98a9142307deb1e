"""What a sentence changes in the state ledger. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.memories.wording import content_words

LISTS = frozenset({"injuries", "outfit", "carried", "alliances", "hazards"})  # several values at a time
MAX_ITEMS = 5
SEPARATOR = ", "


@dataclass(frozen=True)
class StateChange:
    """A field of ``name`` gets ``value``, or loses it where it ``ends``; an empty value that ends is all of it."""

    name: str
    kind: str
    field: str
    value: str
    ends: bool = False


def apply(change: StateChange, fields: Mapping[str, str]) -> dict[str, str]:
    """``fields`` after ``change``; a field that holds no longer is missing."""
    held = fields.get(change.field, "")
    items = held.split(SEPARATOR) if change.field in LISTS and held else [held] if held else []
    if change.ends:
        items = [item for item in items if change.value and not _about_the_same(item, change.value)]
    elif change.field not in LISTS:
        items = [change.value]
    else:
        others = [item for item in items if item.casefold() != change.value.casefold()]
        items = [*others, change.value][-MAX_ITEMS:]
    rest = {name: value for name, value in fields.items() if name != change.field}
    return rest | {change.field: SEPARATOR.join(items)} if items else rest


def apply_all(changes: Iterable[StateChange], fields: Mapping[str, str]) -> dict[str, str]:
    state = dict(fields)
    for change in changes:
        state = apply(change, state)
    return state


def same_value(field: str, one: str, two: str) -> bool:
    """Whether two values of a field say the same; the order of a list tells nothing."""
    if field in LISTS:
        return set(one.casefold().split(SEPARATOR)) == set(two.casefold().split(SEPARATOR))
    return one.casefold() == two.casefold()


def _about_the_same(item: str, ended: str) -> bool:
    return bool(content_words(item) & content_words(ended))
