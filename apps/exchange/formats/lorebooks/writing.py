"""Convert normalised lorebooks to the formats of other programs."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.chats.message_data.layout import dump
from apps.exchange.formats.lorebooks import reading, sillytavern

FORMATS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    reading.SILLYTAVERN: sillytavern.write_book,
    reading.CARD: lambda document: dict(document),
    reading.V3: lambda document: {"spec": "lorebook_v3", "data": dict(document)},
}


def write(document: Mapping[str, Any], format_name: str, original: Any = None) -> dict[str, Any]:
    """Return a book in one of `FORMATS`.

    Return `original`, the value as imported, if that is in the same format and the book is unchanged.
    """
    parsed = reading.read(original, lambda text: None)
    if parsed is None or dump(parsed.document) != dump(document):
        return FORMATS[format_name](document)
    return original if parsed.format == format_name else FORMATS[format_name](document)
