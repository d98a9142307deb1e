"""Reads JSON lines of doubtful origin: bounded in memory, forgiving where nothing is lost by it."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, cast

# Real messages reach a few megabytes, with many swipes and inline images.
MAX_LINE_BYTES = 16 * 2**20
# As deep as the API takes, so that what was imported can also be sent.
MAX_DEPTH = 64
# As many digits as Python reads back without complaint (`sys.get_int_max_str_digits`).
MAX_DIGITS = 4300

Warn = Callable[[str], None]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BrokenLine(ValueError):
    """A line that can't be used; its text is the reason."""


def bounded_lines(source: BinaryIO | Iterable[bytes]) -> Iterator[bytes | None]:
    """The lines of `source`; None in place of one that is longer than `MAX_LINE_BYTES`."""
    if hasattr(source, "readline"):
        return _lines_of_file(cast(BinaryIO, source))
    return (line if len(line.rstrip(b"\r\n")) <= MAX_LINE_BYTES else None for line in source)


def _lines_of_file(file: BinaryIO) -> Iterator[bytes | None]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
        else:
            while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield None


def loads(line: bytes, warn: Warn) -> Any:
    """The JSON value of `line`, with what Postgres can't hold replaced and said to `warn`.

    Raises `BrokenLine` when it isn't JSON, or is nested more than `MAX_DEPTH` deep.
    """
    text = _decode(line, warn)
    try:
        value = _parse(text, warn)
    except json.JSONDecodeError as error:
        raise BrokenLine(f"Not valid JSON: {error.msg} at column {error.colno}.") from None
    except RecursionError:
        raise BrokenLine("Nested too deeply.") from None
    if _deeper_than(value, MAX_DEPTH):
        raise BrokenLine("Nested too deeply.")
    return _replace_unstorable(value, warn) if "\\u" in text or "\0" in text else value


def _decode(line: bytes, warn: Warn) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        warn("Bytes that are not UTF-8 were replaced by U+FFFD.")
        return line.decode(errors="replace")


def _parse(text: str, warn: Warn) -> Any:
    def pairs_to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            warn("A key stood twice in an object: the last value was kept.")
        return value

    def no_number(_: str) -> Any:
        warn("NaN, Infinity or a number out of range was replaced by null.")
        return None

    def to_int(digits: str) -> int | None:
        return int(digits) if len(digits) <= MAX_DIGITS else no_number(digits)

    def to_float(digits: str) -> float | None:
        number = float(digits)
        return number if math.isfinite(number) else no_number(digits)

    # Not strict: raw tabs and newlines inside strings are read, and written back escaped.
    return json.loads(
        text,
        strict=False,
        object_pairs_hook=pairs_to_dict,
        parse_int=to_int,
        parse_float=to_float,
        parse_constant=no_number,
    )


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _replace_unstorable(value: Any, warn: Warn) -> Any:
    if isinstance(value, dict):
        return {_replace_unstorable(k, warn): _replace_unstorable(v, warn) for k, v in value.items()}
    if isinstance(value, list):
        return [_replace_unstorable(item, warn) for item in value]
    if isinstance(value, str) and _UNSTORABLE.search(value):
        warn("NUL characters or lone surrogates were replaced by U+FFFD.")
        return _UNSTORABLE.sub("\ufffd", value)
    return value
