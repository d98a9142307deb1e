"""Parse, repair and render single lines of SillyTavern chat files."""

from collections.abc import Mapping
from typing import Any

from apps.chats.dates import parse_date
from apps.chats.message_data.layout import apply_layout, dump, make_layout
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of
from apps.chats.message_data.parsed import ParsedMessage, message_fields, read_message
from apps.chats.repairs import Warn, as_integer, as_name, as_text, flag_at, object_at
from apps.exchange.formats import marinara
from apps.exchange.formats.parsed import ParsedHeader

# SillyTavern writes "unused" in place of the header's names since 2025.
_UNUSED_NAME = "unused"


def parse_header(line: Mapping[str, Any], warn: Warn) -> ParsedHeader:
    """Parse the header on `line`.

    The character's name, and a user name that is empty or unused, are exported as imported even if the chat has other
    names now.
    """
    user_name = _name_in_header(line.get("user_name"), warn)
    line, lorebooks = _without_lorebooks(line)
    metadata = object_at(line, "chat_metadata", warn)
    known: dict[str, Any] = {"chat_metadata": metadata} | ({"user_name": user_name} if user_name else {})
    return ParsedHeader(
        user_name=user_name,
        character_name=_name_in_header(line.get("character_name"), warn),
        created_at=parse_date(line.get("create_date")),
        metadata=metadata,
        layout=make_layout(line, known),
        lorebooks=lorebooks,
    )


def _without_lorebooks(line: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Any]]:
    """Return a header without the lorebooks that an export by Loci carries, and these."""
    metadata = line.get("chat_metadata")
    given = namespace_of(metadata, LOCI_NAMESPACE) if isinstance(metadata, dict) else {}
    books = given.get("lorebooks")
    if not isinstance(metadata, dict) or not isinstance(books, list):
        return line, []
    rest = {key: value for key, value in given.items() if key != "lorebooks"}
    others = {key: value for key, value in metadata.items() if key != LOCI_NAMESPACE}
    return {**line, "chat_metadata": {**others, LOCI_NAMESPACE: rest} if rest else others}, books


def _name_in_header(value: Any, warn: Warn) -> str:
    name = as_name(value, warn)
    return "" if name == _UNUSED_NAME else name


def parse_message(line: Mapping[str, Any], header: ParsedHeader, warn: Warn) -> ParsedMessage:
    """Parse a message, an object as returned by `json_lines.loads`. Pass repairs to `warn`.

    A message without a name gets the user's or character's name from the header.
    """
    given = marinara.to_sillytavern(line) if marinara.is_line(line) else line
    is_user = flag_at(given, "is_user", warn)
    fallback = header.user_name if is_user else header.character_name
    fields = {
        "is_user": is_user,
        "extra": object_at(given, "extra", warn),
        **_swipe_fields(given, warn),
        "name": as_name(given["name"], warn) if given.get("name") is not None else fallback,
        "is_system": flag_at(given, "is_system", warn),
        "send_date": "" if given.get("send_date") is None else given["send_date"],
    }
    return read_message(fields, line)


def _swipe_fields(line: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Return the text of a message and its swipes, repaired."""
    values = line.get("swipes")
    if not isinstance(values, list) or not values:
        if values not in (None, []):
            warn("swipes was not an array: the text in mes was used.")
        info = _only_info(line, warn)
        return {"mes": as_text(line.get("mes"), warn), "swipe_info": [info]}
    texts = [as_text(text, warn) for text in values]
    swipe_id = as_integer(line.get("swipe_id"))
    if swipe_id is None or not 0 <= swipe_id < len(texts):
        swipe_id = None
        if line.get("swipe_id") is not None:
            warn("swipe_id named no swipe: the one with the text in mes was used.")
    mes = texts[swipe_id or 0] if line.get("mes") is None else as_text(line["mes"], warn)
    return {"mes": mes, "swipe_id": swipe_id, "swipes": texts, "swipe_info": _swipe_infos(line, warn)}


def _only_info(line: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Return what stands in `swipe_info` about a message without `swipes`: what `swipe_id` names, else the first."""
    infos = _swipe_infos(line, warn) or [{}]
    position = as_integer(line.get("swipe_id")) or 0
    return infos[position if 0 <= position < len(infos) else 0]


def _swipe_infos(line: Mapping[str, Any], warn: Warn) -> list[dict[str, Any]]:
    """Return `swipe_info` as objects. What is none is empty."""
    value = line.get("swipe_info")
    if value is not None and not isinstance(value, list):
        warn("swipe_info was not an array: it was left out.")
    return [info if isinstance(info, dict) else {} for info in value] if isinstance(value, list) else []


def render_message(message: ParsedMessage) -> str:
    """Return the line of `message` without line end. Without a layout, swipes are written only if there are several."""
    columns = message_fields(message)
    if message.layout:
        return dump(apply_layout(message.layout, columns))
    if len(message.swipes) == 1:
        columns = {key: value for key, value in columns.items() if not key.startswith("swipe")}
    return dump(columns)


def render_header(
    *, user_name: str, character_name: str, create_date: str, metadata: Mapping[str, Any], layout: str
) -> str | None:
    """Return the header line without line end, or None if the chat was imported from a file without a header."""
    columns = {
        "user_name": user_name,
        "character_name": character_name,
        "create_date": create_date,
        "chat_metadata": metadata,
    }
    line = apply_layout(layout, columns) if layout else columns
    return dump(line) if line else None
