"""Tell which parts of a lorebook the prompts don't follow. They stay in the book and in its exports."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from apps.prompts.lorebooks.decorators import read_decorators

Entry = Mapping[str, Any]

# SillyTavern's positions in the prompt that entries can have here; 7 is an outlet, a macro of its own.
POSITIONS = range(7)


def _extension(name: str) -> Callable[[Entry], Any]:
    return lambda entry: entry["extensions"].get(name)


def _has_unknown_position(entry: Entry) -> bool:
    position = entry["extensions"].get("position")
    return position not in (None, "") and position not in POSITIONS


def _has_filter(entry: Entry) -> bool:
    value = entry["extensions"].get("characterFilter")
    return isinstance(value, dict) and bool(value.get("names") or value.get("tags"))


_MATCHES_MORE = [
    *("persona_description", "character_description", "character_personality", "character_depth_prompt"),
    *("scenario", "creator_notes"),
]
_FEATURES: Mapping[str, Callable[[Entry], Any]] = {
    "an unknown position or an outlet. They are left out of prompts": _has_unknown_position,
    "an inclusion group. All entries of a group that match are used": _extension("group"),
    "timed effects (sticky, cooldown, delay). They are used whenever they match": lambda entry: any(
        entry["extensions"].get(name) for name in ("sticky", "cooldown", "delay")
    ),
    "vectors instead of keys. Only their keys count": _extension("vectorized"),
    "a filter of characters. They are used with all": _has_filter,
    "a filter of generation types. They are used with all": _extension("triggers"),
    "other texts than messages to find their keys in. Only messages count": lambda entry: any(
        entry["extensions"].get(f"match_{name}") is True for name in _MATCHES_MORE
    ),
}


def unsupported_in(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each feature that entries of a normalised book have and prompts don't follow."""
    found: Counter[str] = Counter()
    for entry in document["entries"]:
        found.update(feature for feature, has in _FEATURES.items() if has(entry))
        for name in read_decorators(entry["content"]).unsupported:
            found[f"the decorator @@{name[:40]}. It is ignored"] += 1
    return [f"Not supported: {count} of the lorebook's entries have {feature}." for feature, count in found.items()]
