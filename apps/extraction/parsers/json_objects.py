"""The objects of a reply in JSON, where lines were asked for. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from apps.extraction.parsers.plain import plain

MAX_OBJECTS = 200
MAX_LEVELS = 4
MAX_FAILURES = 3  # braces that begin no object: an array that is cut short is still read, prose is not searched
_DECODER = json.JSONDecoder()


def objects_in(reply: str) -> list[dict[str, Any]]:
    """The innermost objects of an array, of an object, or of several in a row, also where the reply is cut short."""
    text = plain(reply)
    found: list[dict[str, Any]] = []
    place, failures = text.find("{"), 0
    while place >= 0 and len(found) < MAX_OBJECTS and failures < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, place)
            found += _innermost(value, MAX_LEVELS)
        except (ValueError, RecursionError):
            end, failures = place + 1, failures + 1
        place = text.find("{", end)
    return found[:MAX_OBJECTS]


def _innermost(value: Any, levels: int) -> Iterator[dict[str, Any]]:
    """The objects of lists within an object; the object itself where it holds no lists of objects."""
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
    """Whether it is an object with more to it than a name and a kind, such as entities have."""
    return isinstance(value, dict) and bool(value.keys() - {"name", "type", "kind"})
