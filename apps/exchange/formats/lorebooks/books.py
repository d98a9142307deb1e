"""Detect the format of a lorebook, convert it to the normalised form, and write it in the formats of others."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.chats.lorebook_entries import ParsedLorebook
from apps.chats.message_data.layout import dump
from apps.chats.repairs import Warn
from apps.exchange.formats.lorebooks import converters, world_info
from apps.exchange.formats.lorebooks.support import unsupported_in

CARD, V3, SILLYTAVERN = "card", "v3", "sillytavern"

BookReader = Callable[[dict[str, Any], Warn], dict[str, Any]]
READERS: dict[str, BookReader] = {
    SILLYTAVERN: world_info.read_book,
    CARD: world_info.read_card_book,
    V3: lambda book, warn: world_info.read_card_book(book["data"], warn),
    "novelai": converters.read_novelai,
    "agnai": converters.read_agnai,
    "risu": converters.read_risu,
}
FORMATS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    SILLYTAVERN: world_info.write_book,
    CARD: lambda document: dict(document),
    V3: lambda document: {"spec": "lorebook_v3", "data": dict(document)},
}


def read(value: Any, warn: Warn) -> ParsedLorebook | None:
    """Return the lorebook in a JSON value, or None if the value is not a lorebook."""
    if _is_list_of_entries(value):
        value = {"entries": value}
    format_name = _detect_format(value)
    return _parsed(format_name, READERS[format_name](value, warn), value, warn) if format_name else None


def read_card_book(value: Any, warn: Warn) -> ParsedLorebook | None:
    """Return the `character_book` of a card, or None if it is not an object. Any object is accepted."""
    if not isinstance(value, dict):
        warn("character_book is not an object and was left out.")
        return None
    return read(value, warn) or _parsed(CARD, READERS[CARD](value, warn), value, warn)


def write(document: Mapping[str, Any], format_name: str, original: Any = None) -> dict[str, Any]:
    """Return a book in one of `FORMATS`.

    Return `original`, the value as imported, if that is in the same format and the book is unchanged.
    """
    parsed = read(original, lambda text: None)
    if parsed is None or dump(parsed.document) != dump(document):
        return FORMATS[format_name](document)
    return original if parsed.format == format_name else FORMATS[format_name](document)


def _parsed(format_name: str, document: dict[str, Any], value: Any, warn: Warn) -> ParsedLorebook:
    for text in unsupported_in(document):
        warn(text)
    return ParsedLorebook(format_name, document, value)


def _is_list_of_entries(value: Any) -> bool:
    """Return whether a JSON value is the entries of a book alone, as JanitorAI writes them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "content" in item and ("key" in item or "keys" in item) for item in value)
    )


def _detect_format(value: Any) -> str | None:
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
    return "agnai" if value.get("kind") == "memory" else _detect_by_keys(entries)


def _detect_by_keys(entries: dict[str, Any] | list[Any]) -> str:
    """Return the format of entries: cards' have `keys`, SillyTavern's have `key`; only cards have an array."""
    values = list(entries.values()) if isinstance(entries, dict) else entries
    if any(isinstance(entry, dict) and "keys" in entry and "key" not in entry for entry in values):
        return CARD
    return SILLYTAVERN if values or isinstance(entries, dict) else CARD
