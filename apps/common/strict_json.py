"""Strict JSON parser: refuses what Postgres can't store and what parsers interpret differently, with a reason."""

import codecs
import json
import math
from collections.abc import Iterator
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.common.problems import FieldError, Invalid, TooLarge, pointer_of

MAX_DEPTH = 64
MAX_DIGITS = 4300  # the limit of Python's int()
JSON_PATCH = "application/json-patch+json"


class JSONError(ValueError):
    """The text is not valid JSON, or is refused."""


def loads(text: str) -> Any:
    """Parse JSON. Raise JSONError for invalid JSON, NaN, duplicate keys and excessive nesting."""
    # The jiter parser of the openai SDK is no replacement: it reads 1e999 as infinity, and can't name the place of a
    # lone surrogate, which `unstorable` does.
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_integer
        )
    except RecursionError:
        raise JSONError(f"It is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        raise JSONError(str(error)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        name = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JSONError(f"The key {name!r} stands twice in one object.")
    return result


def _no_constant(name: str) -> Any:
    raise JSONError(f"{name} is not JSON.")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JSONError(f"The number {digits[:20]}… has more than {MAX_DIGITS} digits.")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JSONError(f"The number {text[:40]} is too large.")
    return value


def unstorable(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[FieldError]:
    """Yield an error for each place that Postgres can't store: NUL, a lone surrogate, excessive nesting."""
    if isinstance(value, str):
        reason = _unstorable_text(value)
        if reason:
            yield FieldError(pointer_of(path), reason)
    elif len(path) >= MAX_DEPTH and isinstance(value, dict | list):
        yield FieldError(pointer_of(path[:8]), f"It is nested more than {MAX_DEPTH} levels deep.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if _unstorable_text(key):
                yield FieldError(pointer_of(path), f"One of its keys: {_unstorable_text(key)}")
            else:
                yield from unstorable(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unstorable(item, (*path, index))


def _unstorable_text(text: str) -> str | None:
    if "\x00" in text:
        return "It contains a NUL character."
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "It contains a lone surrogate."
    return None


def parse_document(body: bytes) -> Any:
    """Parse the body of a request. Raise Invalid with pointers, or ParseError if it is not JSON."""
    try:
        document = loads(body.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    except JSONError as error:
        raise ParseError(f"The body is not JSON: {error}") from None
    errors = list(unstorable(document))
    if errors:
        raise Invalid(errors[0].detail, errors=errors)
    return document


class StrictJSONParser(BaseParser):
    """Parser of request bodies."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
        return parse_document(body)


class JSONPatchParser(StrictJSONParser):
    """Parser of bodies with JSON Patch operations (RFC 6902)."""

    media_type = JSON_PATCH


def is_json_patch(request: Request) -> bool:
    """Return whether the content type is JSON Patch."""
    return request.content_type.partition(";")[0].strip().lower() == JSON_PATCH


class CompactJSONRenderer(JSONRenderer):
    """Renderer of JSON without a charset parameter: the media type defines none."""

    charset = None
