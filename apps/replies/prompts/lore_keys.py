"""Whether the keys of a lorebook entry match a text. Entries are of card version 3, with SillyTavern's fields."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from apps.replies.prompts.lore_patterns import KeyPatterns

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


def matches(entry: Entry, scanned: str, patterns: KeyPatterns) -> bool:
    """Return whether an entry is constant, or one of its keys matches, and if it is selective, its secondary keys too.

    Keys of the form ``/pattern/flags`` are regular expressions, whatever ``use_regex`` says, as in SillyTavern.
    """
    if entry.get("constant"):
        return True
    if not any(_found(entry, "keys", scanned, patterns)):
        return False
    secondary = list(_found(entry, "secondary_keys", scanned, patterns))
    if not entry.get("selective") or not secondary:
        return True
    logic = extra_of(entry, "selectiveLogic")
    return LOGICS.get(logic if isinstance(logic, int) else 0, any)(secondary)


def _found(entry: Entry, field: str, scanned: str, patterns: KeyPatterns) -> Iterator[bool]:
    """Yield for each key that is not empty whether it is in the text. Expressions say themselves how they match."""
    is_sensitive = bool(entry.get("case_sensitive"))
    whole = extra_of(entry, "match_whole_words") is True
    text = scanned if is_sensitive else scanned.lower()
    for key in filter(None, (str(key).strip() for key in entry.get(field) or [])):
        found = patterns.found(key, scanned)
        if found is None:
            plain = key if is_sensitive else key.lower()
            found = _has_word(plain, text) if whole else plain in text
        yield found


def _has_word(key: str, scanned: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", scanned) is not None
