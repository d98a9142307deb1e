"""Reads single values that a chat file may hold in another type than it should, and says so."""

import json
from collections.abc import Mapping
from typing import Any

from apps.chats.formats.json_lines import Warn

# Of what is stored; a longer name is cut, and goes out whole again.
MAX_NAME = 200


def as_text(value: Any, warn: Warn) -> str:
    """A text; some sites write `{"message": text}` for one."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return value["message"]
    warn("A text was missing or no string.")
    return "" if value is None or isinstance(value, dict | list) else json.dumps(value)


def as_name(value: Any, warn: Warn) -> str:
    """A name, short enough to be stored; none is empty."""
    name = "" if value is None else as_text(value, warn)
    if len(name) > MAX_NAME:
        warn(f"A name was longer than {MAX_NAME} characters: it was cut.")
    return name[:MAX_NAME]


def object_at(line: Mapping[str, Any], key: str, warn: Warn) -> dict[str, Any]:
    """The object under `key`; absent is empty."""
    value = line.get(key)
    if value is not None and not isinstance(value, dict):
        warn(f"{key} was no object: it was taken as empty.")
    return value if isinstance(value, dict) else {}


def flag_at(line: Mapping[str, Any], key: str, warn: Warn) -> bool:
    """A boolean, also where it was written as a number or a string; absent is false."""
    value = line.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    warn(f"{key} was no boolean.")
    return value == 1 or (isinstance(value, str) and value.strip().lower() in ("true", "1"))


def as_integer(value: Any) -> int | None:
    """A whole number, also where it was written as a string or with a decimal point; else None."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == int(value) else None
