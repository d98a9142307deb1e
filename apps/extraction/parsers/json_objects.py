"""Extract objects from a reply in JSON, which some models write instead of lines. Without database access."""

import json
from collections.abc import Iterator
from typing import Any

from apps.extraction.parsers.text_cleanup import clean_reply

MAX_OBJECTS = 200
MAX_LEVELS = 4
# Braces that begin no object. Some are allowed, so that an array that was cut short is parsed; more occur in prose.
MAX_FAILURES = 3
_DECODER = json.JSONDecoder()


def extract_objects(reply: str) -> list[dict[str, Any]]:
    """Return the innermost objects of an array, an object, or several in a row, even if the reply is cut short."""
    text = clean_reply(reply)
    objects: list[dict[str, Any]] = []
    start, failures = text.find("{"), 0
    while start >= 0 and len(objects) < MAX_OBJECTS and failures < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, start)
            objects += _innermost(value, MAX_LEVELS)
        except (ValueError, RecursionError):
            end, failures = start + 1, failures + 1
        start = text.find("{", end)
    return objects[:MAX_OBJECTS]


def _innermost(value: Any, levels: int) -> Iterator[dict[str, Any]]:
    """Yield the objects in lists within an object, or the object itself if it holds no lists of objects."""
    if isinstance(value, list):
        for item in value if levels else ():
            yield from _innermost(item, levels - 1)
    elif isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list) and item and _is_record(item[0])]
        if not lists:
            yield value
        for item in lists:
            yield from _innermost(item, levels - 1)


def _is_record(value: Any) -> bool:
    """Return whether a value is an object with more keys than an entity's name and type."""
    return isinstance(value, dict) and bool(value.keys() - {"name", "type", "kind"})
