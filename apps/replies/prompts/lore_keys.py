"""Whether the keys of a lorebook entry match a text. Entries are of card version 3, with SillyTavern's fields."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Entry = Mapping[str, Any]

# SillyTavern's numbers in ``selectiveLogic``: what the secondary keys must do, given which of them match.
LOGICS: dict[object, Callable[[Iterable[bool]], bool]] = {
    0: any,
    1: lambda found: not all(found),
    2: lambda found: not any(found),
    3: all,
}


def extra_of(entry: Entry, field: str) -> Any:
    """Return a field of the entry's extensions, or None."""
    extensions = entry.get("extensions")
    return extensions.get(field) if isinstance(extensions, dict) else None


def is_usable(entry: Entry) -> bool:
    """Return whether an entry is enabled and has a text."""
    return bool(entry.get("enabled", True) and str(entry.get("content", "")).strip())


def matches(entry: Entry, scanned: str) -> bool:
    """Return whether an entry is constant, or one of its keys matches, and if it is selective, its secondary keys too.

    Keys that are regular expressions never match: an expression may take forever.
    """
    if entry.get("constant"):
        return True
    if entry.get("use_regex") or not any(_found(entry, "keys", scanned)):
        return False
    secondary = _found(entry, "secondary_keys", scanned)
    if not entry.get("selective") or not secondary:
        return True
    logic = extra_of(entry, "selectiveLogic")
    return LOGICS.get(logic if isinstance(logic, int) else 0, any)(secondary)


def _found(entry: Entry, field: str, scanned: str) -> list[bool]:
    """Return for each key that is not empty whether it is in the text."""
    keys = [key for key in (str(key).strip() for key in entry.get(field) or []) if key]
    if not entry.get("case_sensitive"):
        scanned, keys = scanned.lower(), [key.lower() for key in keys]
    whole = extra_of(entry, "match_whole_words") is True
    return [_has_word(key, scanned) if whole else key in scanned for key in keys]


def _has_word(key: str, scanned: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", scanned) is not None
