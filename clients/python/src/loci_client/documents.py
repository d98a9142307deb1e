"""JSON documents: merge patches (RFC 7396) and values at paths."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Path = tuple[str, ...]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def merged(document: Any, patch: Any) -> Any:
    """Return ``document`` after a merge patch, as a new value."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def leaves(patch: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths that a merge patch changes, each with its new value."""
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def value_at(document: Any, path: Path) -> Any:
    """Return the value at ``path``, or MISSING. If a parent is not an object, return that parent."""
    for key in path:
        if not isinstance(document, dict):
            return document
        if key not in document:
            return MISSING
        document = document[key]
    return document


def same(one: Any, other: Any) -> bool:
    """Return True if two values are equal as JSON. Python's == does not distinguish 1, 1.0 and True."""
    if one is MISSING or other is MISSING:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def pointer(path: Sequence[str]) -> str:
    """Return the JSON pointer (RFC 6901) of a path."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
