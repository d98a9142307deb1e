"""Parse, repair and render single lines of SillyTavern chat files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.chats.dates import parse_date
from apps.chats.formats import marinara
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.layout import apply_layout, dump, make_layout
from apps.chats.formats.parsed import ParsedHeader, ParsedMessage, ParsedSwipe
from apps.chats.formats.repairs import as_integer, as_name, as_text, flag_at, object_at
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of

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


def parse_message(raw_line: Mapping[str, Any], header: ParsedHeader, warn: Warn) -> ParsedMessage:
    """Parse a message, an object as returned by `json_lines.loads`. Pass repairs to `warn`.

    A message without a name gets the user's or character's name from the header.
    """
    line = marinara.to_sillytavern(raw_line) if marinara.is_line(raw_line) else raw_line
    is_user = flag_at(line, "is_user", warn)
    fallback = header.user_name if is_user else header.character_name
    swipe_id, swipes = _swipes(line, object_at(line, "extra", warn), warn)
    message = ParsedMessage(
        name=as_name(line["name"], warn) if line.get("name") is not None else fallback,
        is_user=is_user,
        is_system=flag_at(line, "is_system", warn),
        send_date="" if line.get("send_date") is None else line["send_date"],
        sent_at=parse_date(line.get("send_date")),
        swipe_id=swipe_id,
        swipes=swipes,
        layout="",
    )
    return replace(message, layout=make_layout(raw_line, _columns(message)))


def _swipes(line: Mapping[str, Any], extra: dict[str, Any], warn: Warn) -> tuple[int, tuple[ParsedSwipe, ...]]:
    """Return the index of the active swipe, and all swipes.

    `mes` takes precedence over the active swipe's text: old SillyTavern versions did not update `swipes` on edits. Of
    its data, `swipe_info` does: after a change of the swipe, `extra` may still hold that of the one before.
    """
    values = line.get("swipes")
    if not isinstance(values, list) or not values:
        if values not in (None, []):
            warn("swipes was not an array: the text in mes was used.")
        return 0, (_only_swipe(line, extra, warn),)
    texts = [as_text(text, warn) for text in values]
    active = _active_index(line, texts, warn)
    if line.get("mes") is not None:
        texts[active : active + 1] = [as_text(line["mes"], warn)]
    infos = _swipe_infos(line.get("swipe_info"), len(texts), warn)
    swipes = [_swipe(text, info) for text, info in zip(texts, infos, strict=True)]
    swipes[active] = replace(swipes[active], extra={**extra, **swipes[active].extra})
    return active, tuple(swipes)


def _only_swipe(line: Mapping[str, Any], extra: dict[str, Any], warn: Warn) -> ParsedSwipe:
    """Return the swipe of a message without `swipes`, with what stands about it in `swipe_info` alone."""
    infos = line.get("swipe_info")
    count = len(infos) if isinstance(infos, list) else 0
    position = as_integer(line.get("swipe_id")) or 0
    known = _swipe_infos(infos, max(count, 1), warn)
    swipe = _swipe(as_text(line.get("mes"), warn), known[position if 0 <= position < len(known) else 0])
    return replace(swipe, extra={**extra, **swipe.extra})


def _active_index(line: Mapping[str, Any], texts: list[str], warn: Warn) -> int:
    """Return the index of the active swipe, or one past the end if `mes` has to be added as a swipe."""
    swipe_id = as_integer(line.get("swipe_id"))
    if swipe_id is not None and 0 <= swipe_id < len(texts):
        return swipe_id
    if line.get("swipe_id") is not None:
        warn("swipe_id named no swipe: the one with the text in mes was used.")
    if line.get("mes") is None:
        return 0
    mes = as_text(line["mes"], warn)
    return texts.index(mes) if mes in texts else len(texts)


def _swipe_infos(value: Any, count: int, warn: Warn) -> list[dict[str, Any]]:
    """Return `swipe_info` as exactly `count` objects. Missing ones are empty."""
    if value is not None and not isinstance(value, list):
        warn("swipe_info was not an array: it was left out.")
    infos = value if isinstance(value, list) else []
    known = [info if isinstance(info, dict) else {} for info in infos[:count]]
    return known + [{}] * (count - len(known))


def _swipe(text: str, info: dict[str, Any]) -> ParsedSwipe:
    extra = info.get("extra")
    rest = {key: value for key, value in info.items() if key != "extra"}
    return ParsedSwipe(text, extra if isinstance(extra, dict) else {}, rest)


def swipe_info(swipe: ParsedSwipe) -> dict[str, Any]:
    """Return the entry of `swipe_info` for a swipe."""
    return {**swipe.info, "extra": swipe.extra}


def _columns(message: ParsedMessage) -> dict[str, Any]:
    """Return each key of a message with its value rebuilt from the columns, in the order that SillyTavern writes."""
    return {
        "name": message.name,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "send_date": message.send_date,
        "mes": message.active.mes,
        "extra": message.active.extra,
        "swipe_id": message.swipe_id,
        "swipes": [swipe.mes for swipe in message.swipes],
        "swipe_info": [swipe_info(swipe) for swipe in message.swipes],
    }


def render_message(message: ParsedMessage) -> str:
    """Return the line of `message` without line end. Without a layout, swipes are written only if there are several."""
    columns = _columns(message)
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
