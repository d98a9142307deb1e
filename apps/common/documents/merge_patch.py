"""JSON Merge Patch (RFC 7396): application, and computation from two documents."""

import json
from typing import Any


def apply(document: Any, patch: Any) -> Any:
    """Return a patched copy: null deletes a key, objects are merged, other values replace the old ones."""
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
    """Return the merge patch from ``old`` to ``new``, or None if it would set a null: a merge patch can't do that."""
    patch, replaced = diff_by_key(old, new)
    return None if replaced else patch


def diff_by_key(old: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the merge patch from ``old`` to ``new``, and the keys of which it has the value itself instead of a patch.

    These are the keys whose patch would have to set a null.
    """
    patch: dict[str, Any] = dict.fromkeys(key for key in old if key not in new)
    replaced = []
    for key, value in new.items():
        if key in old and _is_same_json(old[key], value):
            continue
        change = _change(old.get(key), value)
        if change is None:
            replaced.append(key)
        patch[key] = value if change is None else change
    return patch, replaced


def _change(old: Any, value: Any) -> Any:
    """Return the patch of one value, or None if it would have to set a null."""
    if isinstance(value, dict) and isinstance(old, dict):
        return diff(old, value)
    return None if _has_null(value) else value


def _is_same_json(left: Any, right: Any) -> bool:
    """Return whether two values are equal as JSON. In Python, 1, 1.0 and True are equal."""
    return json.dumps(left) == json.dumps(right)


def _has_null(value: Any) -> bool:
    """Return whether ``value`` is or holds a null, which a merge patch would drop. It keeps nulls in arrays."""
    return value is None or (isinstance(value, dict) and any(map(_has_null, value.values())))
