"""Extract objects from a reply in JSON, which some models write instead of lines. Without database access."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from apps.extraction.parsers.labels import label_of
from apps.extraction.parsers.text_cleanup import clean_reply

_SMART_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
MAX_OBJECTS = 200
MAX_LEVELS = 4
# Braces that begin no object. Some are allowed, so that an array that was cut short is parsed; more occur in prose.
MAX_FAILURES = 3
_DECODER = json.JSONDecoder()


def extract_objects(reply: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the innermost objects of an array, an object, or several in a row, and what is no complete object.

    Typographic or single quotes and a comma after the last item are tolerated.
    """
    text = clean_reply(reply)
    objects, rest = _decoded(text)
    if not objects and "{" in text:
        corrected = _TRAILING_COMMA.sub("", text.translate(_SMART_QUOTES))
        objects, rest = _decoded(corrected)
        if not objects and (objects := list(_innermost(_literal(corrected), MAX_LEVELS))):
            rest = []
    return objects[:MAX_OBJECTS], rest


def _literal(text: str) -> Any:
    """Return the value of a text as Python writes it, with single quotes, or None."""
    start, end = min((at for at in map(text.find, "[{") if at >= 0), default=0), max(map(text.rfind, "]}")) + 1
    try:
        return ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _decoded(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    objects: list[dict[str, Any]] = []
    rest: list[str] = []
    start = text.find("{")
    while start >= 0 and len(objects) < MAX_OBJECTS and len(rest) < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, start)
            objects += _innermost(value, MAX_LEVELS)
        except (ValueError, RecursionError):
            end = start + 1
            rest.append(text[start : text.find("{", end) if "{" in text[end:] else None])
        start = text.find("{", end)
    return objects, [piece for piece in rest if any(map(str.isalnum, piece))]


def _innermost(value: Any, levels: int, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the objects in lists within an object, or the object itself if it holds no lists of objects.

    What stands under the name of a kind, as in ``{"facts": ["…"]}``, is of that kind.
    """
    if isinstance(value, list):
        for item in value if levels else ():
            yield from _innermost(item, levels - 1, kind)
    elif isinstance(value, str) and kind:
        yield {"kind": kind, "text": value}
    elif isinstance(value, dict):
        inner = {name: item for name, item in value.items() if _holds_records(str(name), item)}
        if not inner:
            yield {"kind": kind, **value} if kind and "kind" not in value and "type" not in value else value
        for name, item in inner.items() if levels else ():
            yield from _innermost(item, levels - 1, label_of(str(name)) or kind)


def _holds_records(name: str, value: Any) -> bool:
    """Return whether the value of a name is a list of objects, or all that a reply has of a kind."""
    if isinstance(value, list) and value:
        return _is_record(value[0]) or (label_of(name) is not None and isinstance(value[0], str))
    return isinstance(value, dict) and any(isinstance(item, list) and label_of(str(key)) for key, item in value.items())


def _is_record(value: Any) -> bool:
    """Return whether a value is an object with more keys than an entity's name and type."""
    return isinstance(value, dict) and bool(value.keys() - {"name", "type", "kind"})
