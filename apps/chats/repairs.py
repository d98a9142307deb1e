"""Convert single values that a file or a request may hold in a wrong type. Each repair is passed to `warn`."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from apps.chats.limits import MAX_NAME_LENGTH

Warn = Callable[[str], None]


def as_text(value: Any, warn: Warn) -> str:
    """Return `value` as text. Some sites write `{"message": text}` in place of the text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return value["message"]
    warn("A text was missing or not a string.")
    return "" if value is None or isinstance(value, dict | list) else json.dumps(value)


def as_name(value: Any, warn: Warn) -> str:
    """Return `value` as a name that fits its column; None becomes an empty string. Layouts keep the whole name."""
    name = "" if value is None else as_text(value, warn)
    if len(name) > MAX_NAME_LENGTH:
        warn(f"A name was longer than {MAX_NAME_LENGTH} characters: it was cut.")
    return name[:MAX_NAME_LENGTH]


def object_at(line: Mapping[str, Any], key: str, warn: Warn) -> dict[str, Any]:
    """Return the object under `key`, or an empty one."""
    value = line.get(key)
    if value is not None and not isinstance(value, dict):
        warn(f"{key} was not an object: it was treated as empty.")
    return value if isinstance(value, dict) else {}


def flag_at(line: Mapping[str, Any], key: str, warn: Warn) -> bool:
    """Return the boolean under `key`, which may be written as a number or a string. Return False if absent."""
    value = line.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    warn(f"{key} was not a boolean.")
    return value == 1 or (isinstance(value, str) and value.strip().lower() in ("true", "1"))


def as_integer(value: Any) -> int | None:
    """Return a whole number, which may be written as a string or with a decimal point, or None for other values."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == int(value) else None
