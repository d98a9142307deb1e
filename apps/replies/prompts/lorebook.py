"""Entries of a lorebook that match the recent messages. A lorebook is a document of card version 3."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_SCAN_DEPTH = 4  # messages
BEFORE_CHARACTER = "before_char"


@dataclass(frozen=True)
class Lore:
    """The contents of the entries that match, in the order of the prompt: before the description, and after it."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def matching_lore(
    book: Mapping[str, Any], recent: Sequence[str], budget: int, count_tokens: Callable[[str], int]
) -> Lore:
    """Return the lore for the texts of ``recent`` messages, newest first, with at most ``budget`` tokens.

    Constant entries take their share first, then those with the greatest ``priority``; a book's own budget may be less.
    """
    depth = book.get("scan_depth")
    scanned = "\n".join(recent[: DEFAULT_SCAN_DEPTH if depth is None else max(int(depth), 0)])
    own_budget = book.get("token_budget")
    room = budget if own_budget is None else min(budget, int(own_budget))
    kept = []
    for entry in sorted(filter(lambda entry: _matches(entry, scanned), book.get("entries", [])), key=_importance):
        tokens = count_tokens(entry["content"])
        if tokens <= room:
            kept.append(entry)
            room -= tokens
    kept.sort(key=lambda entry: entry.get("insertion_order", 0))
    before = [entry for entry in kept if entry.get("position") == BEFORE_CHARACTER]
    after = [entry for entry in kept if entry.get("position") != BEFORE_CHARACTER]
    return Lore(_contents(before), _contents(after))


def _contents(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(entry["content"] for entry in entries)


def _importance(entry: Mapping[str, Any]) -> tuple[bool, float, float]:
    return not entry.get("constant"), -(entry.get("priority") or 0), entry.get("insertion_order", 0)


def _matches(entry: Mapping[str, Any], scanned: str) -> bool:
    """Return whether an enabled entry is constant, or has one of its keys, and a secondary one if it is selective.

    Keys that are regular expressions never match: an expression may take forever.
    """
    if not entry.get("enabled", True) or not str(entry.get("content", "")).strip():
        return False
    if entry.get("constant"):
        return True
    if entry.get("use_regex") or not _any_in(entry, "keys", scanned):
        return False
    needs_both = entry.get("selective") and entry.get("secondary_keys")
    return not needs_both or _any_in(entry, "secondary_keys", scanned)


def _any_in(entry: Mapping[str, Any], field: str, scanned: str) -> bool:
    keys = [str(key).strip() for key in entry.get(field) or []]
    if not entry.get("case_sensitive"):
        scanned, keys = scanned.lower(), [key.lower() for key in keys]
    return any(key in scanned for key in keys if key)
