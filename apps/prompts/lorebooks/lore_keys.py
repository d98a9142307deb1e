"""Whether the keys of a lorebook entry match a text. Entries are of card version 3, with SillyTavern's fields."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from apps.prompts.lorebooks.lore_patterns import KeyPatterns
from apps.prompts.lorebooks.whole_words import is_whole_word

Entry = Mapping[str, Any]

# SillyTavern's numbers in ``selectiveLogic``: what the secondary keys must do, given which of them match.
LOGICS: dict[object, Callable[[Iterable[bool]], bool]] = {
    0: any,
    1: lambda found: not all(found),
    2: lambda found: not any(found),
    3: all,
}
# What a keyboard or a model writes in place of a character of a key, and what is shown as nothing.
_ALIKE = {**dict.fromkeys(map(ord, "‘’ʼ′"), "'"), **dict.fromkeys(map(ord, "“”„″"), '"')}
_ALIKE |= dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"), "")


def extra_of(entry: Entry, field: str) -> Any:
    """Return a field of the entry's extensions, or None."""
    extensions = entry.get("extensions")
    return extensions.get(field) if isinstance(extensions, dict) else None


def is_usable(entry: Entry) -> bool:
    """Return whether an entry is enabled and has a text."""
    return bool(entry.get("enabled", True) and str(entry.get("content", "")).strip())


def matches(entry: Entry, scanned: str, patterns: KeyPatterns) -> bool:
    """Return whether an entry is constant, or one of its keys matches, and if it is selective, its secondary keys too.

    What its decorators ask of further keys holds in any case. Keys of the form ``/pattern/flags`` are regular
    expressions, whatever ``use_regex`` says, as in SillyTavern. ``use_regex`` makes all of them patterns.
    """
    scanned = unicodedata.normalize("NFC", scanned)
    required, excluded = entry.get("required_keys") or [], entry.get("excluded_keys") or []
    if not all(any(_found(entry, keys, scanned, patterns)) for keys in required):
        return False
    if any(_found(entry, excluded, scanned, patterns)):
        return False
    if entry.get("constant"):
        return True
    if not any(_found(entry, entry.get("keys"), scanned, patterns)):
        return False
    secondary = list(_found(entry, entry.get("secondary_keys"), scanned, patterns))
    if not entry.get("selective") or not secondary:
        return True
    logic = extra_of(entry, "selectiveLogic")
    return LOGICS.get(logic if isinstance(logic, int) else 0, any)(secondary)


def _found(entry: Entry, keys: Iterable[Any] | None, scanned: str, patterns: KeyPatterns) -> Iterator[bool]:
    """Yield for each key that is not empty whether it is in the text. Expressions say themselves how they match."""
    is_sensitive = bool(entry.get("case_sensitive"))
    whole = extra_of(entry, "match_whole_words") is True
    text = _folded_text(scanned, is_sensitive)
    bare_flags = ("" if is_sensitive else "i") if entry.get("use_regex") is True else None
    for key in filter(None, (unicodedata.normalize("NFC", str(key)).strip() for key in keys or [])):
        found = patterns.found(key, scanned, bare_flags=bare_flags)
        if found is None:
            plain = _folded(key, is_sensitive)
            found = bool(plain) and (_has_word(plain, text) if whole else plain in text)
        yield found


@lru_cache(maxsize=2)  # thousands of entries are compared with the same messages
def _folded_text(text: str, is_sensitive: bool) -> str:
    return _folded(text, is_sensitive)


def _folded(text: str, is_sensitive: bool) -> str:
    """Return a text in which what differs only in how it is written is equal: marks, spaces, widths, perhaps case."""
    text = " ".join(unicodedata.normalize("NFKC", text.translate(_ALIKE)).split())
    return text if is_sensitive else text.casefold()


def _has_word(key: str, scanned: str) -> bool:
    return any(is_whole_word(scanned, *match.span()) for match in re.finditer(re.escape(key), scanned))
