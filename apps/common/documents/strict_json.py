"""Strict JSON parser. It refuses values that Postgres can't store or that other parsers interpret differently."""

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from apps.common.problems import FieldError, pointer_of

MAX_DEPTH = 64
MAX_DIGITS = 4300  # the limit of Python's int()
# One string, or one comma or opening bracket outside of strings. The time is linear, also if no quote closes a string.
STRING_OR_SEPARATOR = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([,\[{])', re.DOTALL)
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")  # NUL, and halves of characters: pairs were joined by the parser


class JSONError(ValueError):
    """The text is not valid JSON, or is refused."""


def loads(text: str) -> Any:
    """Parse JSON. Raise JSONError for invalid JSON, NaN, duplicate keys and excessive nesting."""
    # The parser jiter is no replacement: it reads 1e999 as infinity, and can't give the position of
    # a lone surrogate, which `storage_errors` does.
    try:
        return json.loads(
            text, object_pairs_hook=_to_dict, parse_constant=_reject_constant, parse_float=_to_float, parse_int=_to_int
        )
    except RecursionError:
        raise JSONError(f"It is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        raise JSONError(str(error)) from None


def _to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        name = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JSONError(f"The key {name!r} occurs twice in one object.")
    return result


def _reject_constant(name: str) -> Any:
    raise JSONError(f"{name} is not JSON.")


def _to_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JSONError(f"The number {digits[:20]}… has more than {MAX_DIGITS} digits.")
    return int(digits)


def _to_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JSONError(f"The number {text[:40]} is too large.")
    return value


def storage_errors(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[FieldError]:
    """Yield an error for each value that Postgres can't store: NUL, a lone surrogate, excessive nesting."""
    if isinstance(value, str):
        reason = _text_error(value)
        if reason:
            yield FieldError(pointer_of(path), reason)
    elif len(path) >= MAX_DEPTH and isinstance(value, dict | list):
        yield FieldError(pointer_of(path[:8]), f"It is nested more than {MAX_DEPTH} levels deep.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if _text_error(key):
                yield FieldError(pointer_of(path), f"One of its keys: {_text_error(key)}")
            else:
                yield from storage_errors(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from storage_errors(item, (*path, index))


def _text_error(text: str) -> str | None:
    if "\x00" in text:
        return "It contains a NUL character."
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "It contains a lone surrogate."
    return None


def with_storable_texts(value: Any, depth: int = 0) -> Any:
    """Return a value with U+FFFD for each character that Postgres can't store, down to MAX_DEPTH."""
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if depth < MAX_DEPTH and isinstance(value, dict):
        return {UNSTORABLE.sub("\ufffd", key): with_storable_texts(item, depth + 1) for key, item in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list):
        return [with_storable_texts(item, depth + 1) for item in value]
    return value


def has_more_values(body: bytes, limit: int) -> bool:
    """Return whether JSON has more than ``limit`` values, counted as its commas, objects and lists.

    Parsed, an empty object takes some thirty times the memory of its text.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) <= limit:
        return False  # the usual case: even with those inside of strings
    separators = (match for match in STRING_OR_SEPARATOR.finditer(body) if match.lastindex is not None)
    return next(islice(separators, limit, None), None) is not None
