"""JSON Merge Patch (RFC 7396): apply one, or find the one that leads from a document to another."""

import json
from typing import Any


def apply(document: Any, patch: Any) -> Any:
    """``document`` after ``patch``, as a new value: null deletes a key, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


def diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | None:
    """The merge patch that leads from ``old`` to ``new``; None where none can, since it would have to store null."""
    patch: dict[str, Any] = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        if key in old and _same(old[key], value):
            continue
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            inner = diff(old[key], value)
        else:
            inner = None if _stores_null(value) else value
        if inner is None:
            return None
        patch[key] = inner
    return patch


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: to Python 1, 1.0 and true are the same."""
    return json.dumps(one) == json.dumps(other)


def _stores_null(value: Any) -> bool:
    """Whether ``value``, applied as a patch, would lose a null: inside arrays they are kept."""
    return value is None or (isinstance(value, dict) and any(map(_stores_null, value.values())))
