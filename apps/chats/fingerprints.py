"""Tells whether two requests ask for the same write."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

# How a line was laid out says nothing of what it means.
_LEFT_OUT = {"layout", "sent_at"}


def fingerprint_of(kind: str, parts: Iterable[Any]) -> str:
    """SHA-256, in hexadecimal, of a write of ``kind`` that consists of ``parts``, dataclasses or JSON values."""
    text = json.dumps([kind, *map(_plain, parts)], ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value) if item.name not in _LEFT_OUT}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
