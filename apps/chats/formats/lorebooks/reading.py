"""Tells lorebooks apart, and reads each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.chats.formats.json_lines import Warn
from apps.chats.formats.lorebooks import foreign, sillytavern
from apps.chats.formats.lorebooks.entries import normalised_book

CARD, V3, SILLYTAVERN = "card", "v3", "sillytavern"


@dataclass(frozen=True)
class ParsedBook:
    """A lorebook in our form, the name of the form in which it came, and itself as it came."""

    format: str
    document: dict[str, Any]
    original: Any


Reader = Callable[[dict[str, Any], Warn], dict[str, Any]]
READERS: dict[str, Reader] = {
    SILLYTAVERN: sillytavern.read_book,
    CARD: normalised_book,
    V3: lambda book, warn: normalised_book(book["data"], warn),
    "novelai": foreign.read_novelai,
    "agnai": foreign.read_agnai,
    "risu": foreign.read_risu,
}


def read(value: Any, warn: Warn) -> ParsedBook | None:
    """The lorebook that a JSON value is, or None."""
    kind = _kind_of(value)
    return ParsedBook(kind, READERS[kind](value, warn), value) if kind else None


def read_card_book(value: Any, warn: Warn) -> ParsedBook | None:
    """The ``character_book`` of a card, whatever it is."""
    if not isinstance(value, dict):
        warn("character_book was no object: it was left out.")
        return None
    return read(value, warn) or ParsedBook(CARD, normalised_book(value, warn), value)


def _kind_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    if str(value.get("spec", "")).startswith("lorebook") and isinstance(value.get("data"), dict):
        return V3
    if value.get("type") == "risu" and isinstance(value.get("data"), list):
        return "risu"
    entries = value.get("entries")
    if not isinstance(entries, dict | list):
        return None
    if "lorebookVersion" in value:
        return "novelai"
    return "agnai" if value.get("kind") == "memory" else _form_of(entries)


def _form_of(entries: dict[str, Any] | list[Any]) -> str:
    """Cards say ``keys`` where SillyTavern says ``key``; of no entries, cards have a list."""
    found = list(entries.values()) if isinstance(entries, dict) else entries
    if any(isinstance(entry, dict) and "keys" in entry and "key" not in entry for entry in found):
        return CARD
    return SILLYTAVERN if found or isinstance(entries, dict) else CARD
