"""Parsers and renderers of REST framework for strict JSON, JSON Patch and event streams.

They stand apart from what models use, so that a process that serves no API doesn't load REST framework.
"""

import codecs
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.common.documents.strict_json import JSONError, has_more_values, loads, storage_errors, with_storable_texts
from apps.common.problems import Invalid, TooLarge

JSON_PATCH = "application/json-patch+json"


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
