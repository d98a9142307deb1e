"""Read values of documents that any program may have written: what has another type counts as absent."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from apps.chats.limits import MAX_NAME_LENGTH
from apps.exchange.memories.reading.found import Span
from apps.memories.candidates import ENTITY_KINDS, UNKNOWN_KIND

MAX_ITEMS = 20_000  # of one list of a document
MAX_TEXT = 20_000  # characters
MAX_INDEX = 2**31 - 1
MAX_NUMBER = 1e18


def objects_at(document: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, or of an object's values, under ``key``; at most MAX_ITEMS."""
    value = document.get(key)
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    yield from (item for item in items[:MAX_ITEMS] if isinstance(item, dict))


def cuts(document: Mapping[str, Any]) -> list[str]:
    """Return what of a document MAX_ITEMS and MAX_TEXT leave out, in sentences."""
    found: dict[str, None] = {}
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str) and len(value) > MAX_TEXT:
            found[f"Of each text in “{key[:40]}” the first {MAX_TEXT:,} characters were read; one is longer."] = None
        items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        if len(items) > MAX_ITEMS:
            found[f"Of {len(items):,} entries in “{key[:40]}” the first {MAX_ITEMS:,} were read."] = None
        keys = value if isinstance(value, dict) else [key] * len(items)
        waiting += [(key, item) for key, item in zip(keys, items, strict=True) if isinstance(item, str | dict | list)]
    return list(found)


def object_at(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def text_at(document: Mapping[str, Any], key: str, limit: int = MAX_TEXT) -> str:
    """Return the text under ``key`` without surrounding space and NUL, at most ``limit`` characters."""
    value = document.get(key)
    return value.replace("\0", "").strip()[:limit].strip() if isinstance(value, str) else ""


def name_of(value: Any) -> str:
    """Return a name in one line, or an empty string."""
    return " ".join(value.replace("\0", "").split())[:MAX_NAME_LENGTH] if isinstance(value, str) else ""


def names_at(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the names under ``key``: a list of texts, or one text with commas. Each once."""
    value = document.get(key)
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(filter(None, map(name_of, items[:MAX_ITEMS]))))


def number_at(document: Mapping[str, Any], key: str) -> float | None:
    """Return the finite number under ``key``, or None."""
    value = document.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < MAX_NUMBER and math.isfinite(value) else None


def index_at(document: Mapping[str, Any], key: str) -> int | None:
    """Return the index of a message under ``key``, or None."""
    number = number_at(document, key)
    return int(number) if number is not None and 0 <= number <= MAX_INDEX and number == int(number) else None


def span_of(value: Any) -> Span | None:
    """Return the message indexes ``[first, last]``, or the latest of a list of these. None if there are none."""
    pairs = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    spans = [span for pair in pairs[:MAX_ITEMS] if (span := _span(pair))]
    return max(spans, key=lambda span: span[1]) if spans else None


def _span(value: Any) -> Span | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, last = (index_at({"index": item}, "index") for item in value)
    return None if first is None or last is None or first > last else (first, last)


def entity_kind(value: Any) -> str:
    return value if isinstance(value, str) and value in ENTITY_KINDS else UNKNOWN_KIND
