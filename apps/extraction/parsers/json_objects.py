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


def extract_objects(reply: str) -> list[dict[str, Any]]:
    """Return the innermost objects of an array, an object, or several in a row, even if the reply is cut short.

    Typographic or single quotes and a comma after the last item are tolerated.
    """
    text = clean_reply(reply)
    objects = _decoded(text)
    if not objects and "{" in text:
        corrected = _TRAILING_COMMA.sub("", text.translate(_SMART_QUOTES))
        objects = _decoded(corrected) or list(_innermost(_literal(corrected), MAX_LEVELS))
    return objects[:MAX_OBJECTS]


def _literal(text: str) -> Any:
    """Return the value of a text as Python writes it, with single quotes, or None."""
    start, end = min((at for at in map(text.find, "[{") if at >= 0), default=0), max(map(text.rfind, "]}")) + 1
    try:
        return ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _decoded(text: str) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    start, failures = text.find("{"), 0
    while start >= 0 and len(objects) < MAX_OBJECTS and failures < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, start)
            objects += _innermost(value, MAX_LEVELS)
        except (ValueError, RecursionError):
            end, failures = start + 1, failures + 1
        start = text.find("{", end)
    return objects


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
