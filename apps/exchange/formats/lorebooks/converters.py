"""Convert lorebooks of NovelAI, Agnai and Risu to the normalised form."""

from collections.abc import Mapping
from typing import Any

from apps.chats.lorebook_entries import as_flag, as_number, normalise_book, read_entries
from apps.chats.repairs import Warn


def read_novelai(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Convert a NovelAI lorebook. Its `budgetPriority` sets the order of the entries."""
    return _normalised_book({}, [_novelai_entry(entry) for entry in read_entries(book, warn)], warn)


def _novelai_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    config = entry.get("contextConfig")
    priority = as_number(config.get("budgetPriority"), 0) if isinstance(config, dict) else 0
    return {
        "keys": entry.get("keys"),
        "content": entry.get("text"),
        "comment": entry.get("displayName"),
        "enabled": entry.get("enabled"),
        "constant": as_flag(entry.get("forceActivation"), False),
        "insertion_order": priority,
    }


def read_agnai(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Convert an Agnai book. `weight` is the order; `priority` decides what is kept if the budget runs out."""
    return _normalised_book(book, [_agnai_entry(entry) for entry in read_entries(book, warn)], warn)


def _agnai_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "keys": entry.get("keywords"),
        "content": entry.get("entry"),
        "name": entry.get("name"),
        "comment": entry.get("name"),
        "enabled": entry.get("enabled"),
        "insertion_order": as_number(entry.get("weight"), 0),
        "priority": entry.get("priority"),
    }


def read_risu(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Convert a Risu lorebook. Its keys are one text, separated by commas; `activationPercent` is a probability."""
    return _normalised_book(book, [_risu_entry(entry) for entry in read_entries(book, warn, "data")], warn)


def _risu_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "keys": entry.get("key"),
        "secondary_keys": entry.get("secondkey"),
        "content": entry.get("content"),
        "comment": entry.get("comment"),
        "constant": entry.get("alwaysActive"),
        "selective": entry.get("selective"),
        "insertion_order": as_number(entry.get("insertorder"), 100),
        "extensions": {"probability": as_number(entry.get("activationPercent"), 100)},
    }


def _normalised_book(book: Mapping[str, Any], entries: list[dict[str, Any]], warn: Warn) -> dict[str, Any]:
    metadata = {key: book.get(key) for key in ("name", "description")}
    return normalise_book({**metadata, "entries": entries}, warn)
