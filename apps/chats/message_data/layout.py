"""Record how a line of a chat file was written, so that an unchanged message is exported exactly as imported.

A layout is the JSON text of an object with the line's keys in their order. A key whose value can be rebuilt exactly
from the database columns has null. Any other has `{"raw": value}`: unknown fields, and values that were repaired on
import, such as the outdated text that old SillyTavern versions left in `swipes`.

An empty layout belongs to messages that were not imported: every key comes from its column, in the usual order.
`{}` is the layout of a header that was absent from the file.
"""

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any

# Other keys that a change of a field affects. A copy of the field is updated if present, and never added. Required keys
# are added with the field, since SillyTavern reads `swipes` together with all of them.
_OPTIONAL_COPIES = {"mes": ("swipes",), "extra": ("swipe_info",)}
_REQUIRED_KEYS = {"swipes": ("swipe_id", "swipe_info", "mes", "extra")}


def dump(value: Any) -> str:
    """Return `value` as compact JSON text, as SillyTavern writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def make_layout(line: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    """Return the layout of `line`. `columns` has the value of each known key as rebuilt from the database columns."""
    return dump({key: _entry(value, key, columns) for key, value in line.items()})


def _entry(value: Any, key: str, columns: Mapping[str, Any]) -> dict[str, Any] | None:
    # Compared as text: in Python 1, 1.0 and True are equal, and so are objects with keys in another order.
    return None if key in columns and dump(columns[key]) == dump(value) else {"raw": value}


def apply_layout(layout: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object to write: the keys of `layout`, with their raw values or those of `columns`."""
    entries = json.loads(layout)
    return {key: columns[key] if entry is None else entry["raw"] for key, entry in entries.items()}


def unknown_fields(layout: str, known: Container[str]) -> dict[str, Any]:
    """Return the values of the layout's keys that are none of the `known` ones."""
    if not layout:
        return {}
    entries = json.loads(layout)
    return {key: entry["raw"] for key, entry in entries.items() if entry is not None and key not in known}


def forget_layout(layout: str, fields: Iterable[str]) -> str:
    """Return `layout` after a change of `fields`: drop their raw values, so that their columns are exported.

    Fields of a message are `name`, `is_user`, `is_system` and `send_date`; `mes` or `extra` if the text or data of the
    active swipe changed; `swipes` if another swipe changed, was added, removed or made active. Fields of a header are
    `user_name`, `character_name` and `chat_metadata`.
    """
    if not layout:
        return layout
    entries = json.loads(layout)
    for field in fields:
        entries.update(dict.fromkeys((field, *_REQUIRED_KEYS.get(field, ()))))
        entries.update(dict.fromkeys(key for key in _OPTIONAL_COPIES.get(field, ()) if key in entries))
    return dump(entries)


def restore_layout(layout: str, earlier: str, keys: Iterable[str]) -> str:
    """Return `layout` with these keys as they stand in an earlier one, which had a value or none."""
    if not layout or not earlier:
        return layout
    entries, before = json.loads(layout), json.loads(earlier)
    for key in keys:
        if key in before:
            entries[key] = before[key]
        else:
            entries.pop(key, None)
    return dump(entries)
