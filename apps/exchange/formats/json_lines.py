"""Parse untrusted JSON lines with limits on length and depth. Harmless errors are repaired and passed to `warn`."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from apps.chats.repairs import Warn
from apps.common.documents.strict_json import has_more_values
from apps.common.stored_texts import gettext_stored

# Real messages reach a few megabytes, with many swipes and inline images.
MAX_LINE_BYTES = 16 * 2**20
# The same depth as the API accepts, so that an imported message can also be sent to it.
MAX_DEPTH = 64
# Of one line, or of a file that is one value. Parsed, a value takes much more memory than its text.
MAX_VALUES = 1_000_000
# Python refuses to parse longer integers (`sys.get_int_max_str_digits`).
MAX_DIGITS = 4300

# Postgres stores neither NUL nor lone surrogates in texts and JSON.
_UNSTORABLE_PATTERN = re.compile("[\x00\ud800-\udfff]")


class BrokenLine(ValueError):
    """A line that can't be parsed. The text of the exception is the reason."""


def bounded_lines(source: BinaryIO | Iterable[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of `source`, with None in place of lines longer than `MAX_LINE_BYTES`."""
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
    """Return the JSON value of `line`. Replace what Postgres can't store, and report each repair to `warn`.

    Raise BrokenLine if the line is not JSON, or is nested too deeply, or has too many values.
    """
    if has_more_values(line, MAX_VALUES):
        raise BrokenLine(gettext_stored("It has more than %(max_values)s values.", max_values=MAX_VALUES))
    text = _decode(line, warn)
    try:
        value = _parse(text, warn)
    except json.JSONDecodeError as error:
        raise BrokenLine(f"Not valid JSON: {error.msg} at column {error.colno}.") from None
    except RecursionError:
        raise BrokenLine(gettext_stored("Nested too deeply.")) from None
    if _is_deeper_than(value, MAX_DEPTH):
        raise BrokenLine(gettext_stored("Nested too deeply."))
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
            warn("A key appeared twice in an object: the last value was kept.")
        return value

    def replace_by_null(_: str) -> Any:
        warn("NaN, Infinity or a number out of range was replaced by null.")
        return None

    def to_int(digits: str) -> int | None:
        return int(digits) if len(digits) <= MAX_DIGITS else replace_by_null(digits)

    def to_float(digits: str) -> float | None:
        number = float(digits)
        return number if math.isfinite(number) else replace_by_null(digits)

    # Not strict: accept raw tabs and newlines inside strings. They are escaped when written.
    return json.loads(
        text,
        strict=False,
        object_pairs_hook=pairs_to_dict,
        parse_int=to_int,
        parse_float=to_float,
        parse_constant=replace_by_null,
    )


def _is_deeper_than(value: Any, limit: int) -> bool:
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
    if isinstance(value, str) and _UNSTORABLE_PATTERN.search(value):
        warn("NUL characters or lone surrogates were replaced by U+FFFD.")
        return _UNSTORABLE_PATTERN.sub("\ufffd", value)
    return value
