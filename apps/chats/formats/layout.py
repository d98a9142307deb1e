"""How a line of a chat file was written, so that an untouched message goes out as it came in.

A layout is the JSON text of an object with the line's keys, in their order. A key whose value our columns
give back exactly has null; any other has `{"raw": value}`: unknown fields, and values that were repaired on
the way in, such as the stale text that old SillyTavern versions left in `swipes`. The empty text is the
layout of what was written here: every key from its column, in the usual order. `{}` is the layout of a header
that the file didn't have.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

# What a change makes untrue beside the field itself. A mirror is a copy that a line may or may not hold: it
# is refreshed where it is, and not added. Partners have to be there once the field is.
_MIRRORS = {"mes": ("swipes",), "extra": ("swipe_info",)}
_PARTNERS = {"swipes": ("swipe_id", "swipe_info", "mes", "extra")}


def dump(value: Any) -> str:
    """`value` as compact JSON text, as SillyTavern writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def make_layout(line: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    """The layout of `line`, of which `columns` is what the stored columns give for each of the known keys."""
    return dump({key: _entry(value, key, columns) for key, value in line.items()})


def _entry(value: Any, key: str, columns: Mapping[str, Any]) -> dict[str, Any] | None:
    # Compared as text, since to Python 1, 1.0 and True are equal, and so are objects in another order.
    return None if key in columns and dump(columns[key]) == dump(value) else {"raw": value}


def apply_layout(layout: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The object to write: the keys of `layout` with their own values, or those of `columns`."""
    entries = json.loads(layout)
    return {key: columns[key] if entry is None else entry["raw"] for key, entry in entries.items()}


def forget_layout(layout: str, fields: Iterable[str]) -> str:
    """`layout` after `fields` were written: their columns count from now on, not what the file said.

    Of a message, say `name`, `is_user`, `is_system` or `send_date`; `mes` or `extra` when the text or data of
    the active swipe changed; `swipes` when any other swipe changed, one was added or removed, or another was
    made active. Of a header: `user_name`, `character_name`, `chat_metadata`.
    """
    if not layout:
        return layout
    entries = json.loads(layout)
    for field in fields:
        entries.update(dict.fromkeys((field, *_PARTNERS.get(field, ()))))
        entries.update(dict.fromkeys(key for key in _MIRRORS.get(field, ()) if key in entries))
    return dump(entries)
