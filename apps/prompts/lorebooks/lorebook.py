"""Entries of a lorebook that match the recent messages. A lorebook is a document of card version 3."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.prompts.lorebooks.lore_entries import (
    AFTER,
    AFTER_EXAMPLES,
    AFTER_NOTE,
    AT_DEPTH,
    BEFORE,
    BEFORE_EXAMPLES,
    BEFORE_NOTE,
    NO_SETTING,
    ROLES,
    LoreSetting,
    prepared,
)
from apps.prompts.lorebooks.lore_keys import KeyPatterns, LoreEntry, matches

DEFAULT_SCAN_DEPTH = 4  # messages
DEFAULT_DEPTH = 4  # messages below an entry that stands in the conversation
MAX_ROUNDS = 5  # of entries that were found in the texts of others
LORE_BEFORE, LORE_AFTER, LORE_AT_DEPTH = "lore_before", "lore_after", "lore_at_depth"
LORE_BEFORE_NOTE, LORE_AFTER_NOTE = "lore_before_note", "lore_after_note"
LORE_BEFORE_EXAMPLES, LORE_AFTER_EXAMPLES = "lore_before_examples", "lore_after_examples"
PLACES = {
    BEFORE: LORE_BEFORE,
    AFTER: LORE_AFTER,
    BEFORE_NOTE: LORE_BEFORE_NOTE,
    AFTER_NOTE: LORE_AFTER_NOTE,
    AT_DEPTH: LORE_AT_DEPTH,
    BEFORE_EXAMPLES: LORE_BEFORE_EXAMPLES,
    AFTER_EXAMPLES: LORE_AFTER_EXAMPLES,
}
TITLE_KEYS = 4  # which name an entry without a name


@dataclass(frozen=True)
class LoreText:
    """An entry that matches, with its place, which is one of ``PLACES``.

    One at a depth stands before the last ``depth`` messages.
    """

    name: str
    keys: tuple[str, ...]
    text: str
    tokens: int
    place: str
    depth: int
    role: str
    order: float
    is_constant: bool

    @property
    def document(self) -> dict[str, Any]:
        """Return what is recorded of an entry in a prompt."""
        names = ("name", "text", "tokens", "place")
        return {name: getattr(self, name) for name in names} | {"keys": list(self.keys), "constant": self.is_constant}


@dataclass(frozen=True)
class Lore:
    """The entries that match, in the order of the prompt, and those of them that had no room."""

    texts: tuple[LoreText, ...] = ()
    left_out: tuple[LoreText, ...] = ()

    def at(self, place: str) -> list[LoreText]:
        """Return the entries at a place."""
        return [item for item in self.texts if item.place == place]

    def text_at(self, place: str) -> str:
        """Return the texts of the entries at a place, each in a line of its own."""
        return "\n".join(item.text for item in self.at(place))


def lore_of_books(
    books: Iterable[Mapping[str, Any]],
    recent: Sequence[str],
    budget: int,
    count_tokens: Callable[[str], int],
    setting: LoreSetting = NO_SETTING,
) -> Lore:
    """Return the lore of several books, in one order. The first ones take their share of the budget first."""
    found: list[LoreText] = []
    left_out: list[LoreText] = []
    for book in books:
        room = budget - sum(item.tokens for item in found)
        lore = matching_lore(book, recent, room, count_tokens, setting)
        found += lore.texts
        left_out += lore.left_out
    return Lore(tuple(sorted(found, key=lambda item: item.order)), tuple(left_out))


def matching_lore(
    book: Mapping[str, Any],
    recent: Sequence[str],
    budget: int,
    count_tokens: Callable[[str], int],
    setting: LoreSetting = NO_SETTING,
) -> Lore:
    """Return the lore for the texts of ``recent`` messages, newest first, with at most ``budget`` tokens.

    Constant entries take their share first, then those with the greatest ``priority``; a book's own budget may be less.
    """
    # Programs write 0 for a number that nobody has set; a book for which no word has room would be of no use.
    own_budget = book.get("token_budget") or 0
    room = min(budget, int(own_budget)) if own_budget > 0 else budget
    kept: list[tuple[LoreEntry, int]] = []
    left_out: list[tuple[LoreEntry, int]] = []
    for entry in sorted(_found(book, recent, setting), key=_importance):
        tokens = count_tokens(entry["content"])
        if tokens <= room:
            kept.append((entry, tokens))
            room -= tokens
        else:
            left_out.append((entry, tokens))
    kept.sort(key=lambda item: item[0].get("insertion_order", 0))
    texts, without_room = (tuple(_text_of(entry, tokens) for entry, tokens in of) for of in (kept, left_out))
    return Lore(texts, without_room)


def _found(book: Mapping[str, Any], recent: Sequence[str], setting: LoreSetting) -> list[LoreEntry]:
    """Return the entries that match the messages and, in a recursive book, the texts of entries already found.

    Secondary keys are sought in both.
    """
    patterns = KeyPatterns()
    entries = (prepared(entry, setting) for entry in book.get("entries", []))
    waiting = [entry for entry in entries if entry is not None]  # each has extensions, maybe empty
    found = [
        entry
        for entry in waiting
        if not entry["extensions"].get("delay_until_recursion")
        and matches(entry, _scanned(book, entry, recent), patterns)
    ]
    latest = found
    for _ in range(MAX_ROUNDS if book.get("recursive_scanning") else 0):
        text = "\n".join(entry["scanned"] for entry in latest if not entry["extensions"].get("prevent_recursion"))
        known = {id(entry) for entry in found}
        latest = [
            entry
            for entry in waiting
            if id(entry) not in known
            and not entry["extensions"].get("exclude_recursion")
            and matches(entry, f"{_scanned(book, entry, recent)}\n{text}", patterns)
        ]
        if not latest or not text:
            break
        found = [*found, *latest]
    return found


def _scanned(book: Mapping[str, Any], entry: LoreEntry, recent: Sequence[str]) -> str:
    """Return the texts that an entry is compared with: its own ``scan_depth``, else the book's."""
    depths = (entry["extensions"].get("scan_depth"), book.get("scan_depth") or None, DEFAULT_SCAN_DEPTH)
    return "\n".join(recent[: max(_number(depths), 0)])


def _number(values: Iterable[Any]) -> int:
    """Return the first of ``values`` that is a number."""
    return next(int(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool))


def _text_of(entry: LoreEntry, tokens: int) -> LoreText:
    keys = tuple(str(key) for key in entry.get("keys") or [])
    role = entry["extensions"].get("role")
    return LoreText(
        name=str(entry.get("name") or entry.get("comment") or ", ".join(keys[:TITLE_KEYS])),
        keys=keys,
        text=entry["content"],
        tokens=tokens,
        place=PLACES[entry["position"]],
        depth=max(_number((entry["extensions"].get("depth"), DEFAULT_DEPTH)), 0),
        role=ROLES[role] if isinstance(role, int) and role in range(len(ROLES)) else ROLES[0],
        order=entry.get("insertion_order", 0),
        is_constant=bool(entry.get("constant")),
    )


def _importance(entry: LoreEntry) -> tuple[bool, bool, float, float]:
    order = entry.get("insertion_order", 0)
    return entry["goes_first"], not entry.get("constant"), -(entry.get("priority") or 0), order
