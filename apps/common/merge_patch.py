"""JSON Merge Patch (RFC 7396): application, and computation from two documents."""

import json
from typing import Any


def apply(document: Any, patch: Any) -> Any:
    """Return a patched copy: null deletes a key, objects are merged, everything else replaces."""
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
    """Return the merge patch from ``old`` to ``new``; None if it would have to store null, which it can't express."""
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
    """Return whether two values are equal as JSON. In Python, 1, 1.0 and True are equal."""
    return json.dumps(one) == json.dumps(other)


def _stores_null(value: Any) -> bool:
    """Return whether ``value``, applied as a patch, would lose a null. Nulls in arrays are kept."""
    return value is None or (isinstance(value, dict) and any(map(_stores_null, value.values())))
