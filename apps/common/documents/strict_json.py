"""Strict JSON parser. It refuses values that Postgres can't store or that other parsers interpret differently."""

import codecs
import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.common.problems import FieldError, Invalid, TooLarge, pointer_of

MAX_DEPTH = 64
MAX_DIGITS = 4300  # the limit of Python's int()
# One string, or one comma or opening bracket outside of strings. The time is linear, also if no quote closes a string.
STRING_OR_SEPARATOR = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([,\[{])', re.DOTALL)
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")  # NUL, and halves of characters: pairs were joined by the parser
JSON_PATCH = "application/json-patch+json"


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


def parse_document(body: bytes, *, repairs: bool = False) -> Any:
    """Parse the body of a request. Raise TooLarge, Invalid with pointers, or ParseError if it is not JSON.

    With ``repairs``, U+FFFD takes the place of bytes that are no UTF-8, and of characters that Postgres can't store.
    """
    if has_more_values(body, settings.REQUEST_MAX_VALUES):
        raise TooLarge(f"The body has more than {settings.REQUEST_MAX_VALUES} values.")
    try:
        document = loads(body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace" if repairs else "strict"))
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    except JSONError as error:
        raise ParseError(f"The body is not JSON: {error}") from None
    errors = list(storage_errors(document))
    if errors and repairs:
        document = with_storable_texts(document)
        errors = list(storage_errors(document))
    if errors:
        raise Invalid(errors[0].detail, errors=errors)
    return document


class StrictJSONParser(BaseParser):
    """Parse request bodies as strict JSON."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
        return parse_document(body)


class JSONPatchParser(StrictJSONParser):
    """Parse bodies with JSON Patch operations (RFC 6902)."""

    media_type = JSON_PATCH


def is_json_patch(request: Request) -> bool:
    """Return whether the request's content type is JSON Patch."""
    return request.content_type.partition(";")[0].strip().lower() == JSON_PATCH


class CompactJSONRenderer(JSONRenderer):
    """Render JSON without a charset parameter: its media type defines none."""

    charset = None


class EventStreamRenderer(CompactJSONRenderer):
    """Accept ``text/event-stream``. It renders only error responses: events are not rendered."""

    media_type = "text/event-stream"
    format = "events"
