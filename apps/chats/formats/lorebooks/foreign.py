"""Lorebooks of NovelAI, Agnai and Risu, entry by entry."""

from collections.abc import Mapping
from typing import Any

from apps.chats.formats.json_lines import Warn
from apps.chats.formats.lorebooks.entries import entries_of, flag, normalised_book, number


def read_novelai(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Its budget priority says which entries come first."""
    return _book({}, [_novelai(entry) for entry in entries_of(book, warn)], warn)


def _novelai(entry: Mapping[str, Any]) -> dict[str, Any]:
    config = entry.get("contextConfig")
    priority = number(config.get("budgetPriority"), 0) if isinstance(config, dict) else 0
    return {
        "keys": entry.get("keys"),
        "content": entry.get("text"),
        "comment": entry.get("displayName"),
        "enabled": entry.get("enabled"),
        "constant": flag(entry.get("forceActivation"), False),
        "insertion_order": priority,
    }


def read_agnai(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Its weight is the order, its priority what is kept when room runs out."""
    return _book(book, [_agnai(entry) for entry in entries_of(book, warn)], warn)


def _agnai(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "keys": entry.get("keywords"),
        "content": entry.get("entry"),
        "name": entry.get("name"),
        "comment": entry.get("name"),
        "enabled": entry.get("enabled"),
        "insertion_order": number(entry.get("weight"), 0),
        "priority": entry.get("priority"),
    }


def read_risu(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Its keys are one text with commas, its activation a chance in percent."""
    return _book(book, [_risu(entry) for entry in entries_of(book, warn, "data")], warn)


def _risu(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "keys": entry.get("key"),
        "secondary_keys": entry.get("secondkey"),
        "content": entry.get("content"),
        "comment": entry.get("comment"),
        "constant": entry.get("alwaysActive"),
        "selective": entry.get("selective"),
        "insertion_order": number(entry.get("insertorder"), 100),
        "extensions": {"probability": number(entry.get("activationPercent"), 100)},
    }


def _book(book: Mapping[str, Any], entries: list[dict[str, Any]], warn: Warn) -> dict[str, Any]:
    said = {key: book.get(key) for key in ("name", "description")}
    return normalised_book({**said, "entries": entries}, warn)
