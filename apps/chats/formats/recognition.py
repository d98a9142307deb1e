"""Detect the format of a JSON document by its keys, reading only up to the first known key."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from django.utils.translation import gettext, gettext_noop

from apps.chats.formats import agnai, cai_tools, chatgpt, claude, kobold, loci, loom, oobabooga, risu, sillytavern
from apps.chats.formats.documents import MAX_FIELDS_BYTES, read_array
from apps.chats.formats.json_lines import BrokenLine
from apps.chats.formats.json_stream import BrokenDocument, JsonStream
from apps.chats.formats.parsed import ParsedChat, Report, UnreadableFile


@dataclass(frozen=True)
class Format:
    """A chat format: its name, and the function that reads the chats of a file."""

    name: str
    read: Callable[[BinaryIO, Report], Iterator[ParsedChat]]


def _parse_lines(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    file.seek(0)
    yield _mark_marinara(sillytavern.parse(file))


def _parse_array(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    chat_report = Report(sillytavern.FORMAT, unit="message")
    yield _mark_marinara(sillytavern.parse_values(read_array(file, (), chat_report), chat_report))


def _mark_marinara(chat: ParsedChat) -> ParsedChat:
    if "marinara_metadata" in chat.header.metadata:
        chat.report.format = "marinara"
    return chat


JSON_LINES = Format(sillytavern.FORMAT, _parse_lines)
JSON_ARRAY = Format(sillytavern.FORMAT, _parse_array)

# Reasons of UnreadableFile for documents that are not chats.
CARD_REASON = gettext_noop("It is a character card, not a chat. Import it with your characters.")
LOREBOOK_REASON = gettext_noop("It is a lorebook, not a chat. Import it with your lorebooks.")
PRESET_REASON = gettext_noop("It is a settings preset, not a chat.")
UNKNOWN_REASON = gettext_noop("It is JSON, but not in a supported chat format.")

# Formats by a key of the top-level object. The first key of the document that is listed here decides.
_BY_KEY: dict[str, Format | str] = {
    **dict.fromkeys(("chat_metadata", "user_name", "character_name", "mes", "is_user"), JSON_LINES),
    **dict.fromkeys(("savedsettings", "gamestarted", "actions"), Format(kobold.FORMAT, kobold.parse_chats)),
    "histories": Format(cai_tools.FORMAT, cai_tools.parse_chats),
    **{key: Format(oobabooga.FORMAT, partial(oobabooga.parse_chats, key=key)) for key in oobabooga.SHOWN_KEYS},
    "messages": Format(agnai.FORMAT, agnai.parse_chats),
    **dict.fromkeys(("first_mes", "char_name", "char_greeting", "char_persona", "mes_example"), CARD_REASON),
    **dict.fromkeys(("entries", "lorebookVersion"), LOREBOOK_REASON),
    **dict.fromkeys(("temperature", "temp", "prompt_order", "input_sequence"), PRESET_REASON),
}
# Formats by a key of the first object in a top-level array.
_BY_ITEM_KEY: dict[str, Format | str] = {
    "mapping": Format(chatgpt.FORMAT, chatgpt.parse_chats),
    "chat_messages": Format(claude.FORMAT, claude.parse_chats),
    **dict.fromkeys(("mes", "is_user", "chat_metadata", "user_name", "character_name", "swipes"), JSON_ARRAY),
}
# Formats by a key and its value, where other programs use the same key.
_BY_VALUE: dict[tuple[str, str], Format | str] = {
    ("type", risu.ONE_CHAT): Format(risu.FORMAT, risu.parse_one_chat),
    ("type", risu.ALL_CHATS): Format(risu.FORMAT, risu.parse_all_chats),
    ("format", loom.FORMAT): Format(loom.FORMAT, loom.parse_chats),
    **dict.fromkeys((("spec", "chara_card_v2"), ("spec", "chara_card_v3")), CARD_REASON),
    **dict.fromkeys((("type", "risu"), ("kind", "memory"), ("spec", "lorebook_v3")), LOREBOOK_REASON),
}
LOCI = Format(loci.FORMAT, loci.parse_chats)
_KEYS_WITH_VALUE = {key for key, _ in _BY_VALUE}


def detect_format(file: BinaryIO) -> Format:
    """Return the format of a text file, by default JSON lines.

    Raise UnreadableFile if the file is recognised as something else, such as a card.
    """
    file.seek(0)
    detected: Format | str = JSON_LINES
    with suppress(BrokenLine):  # the first of JSON lines may be broken
        detected = _detect(JsonStream(file))
    if isinstance(detected, str):
        raise UnreadableFile(gettext(detected))
    return detected


def _detect(stream: JsonStream) -> Format | str:
    kind = stream.peek()
    if kind == b"{":
        # An object without known keys may be the first of JSON lines, but not if nothing follows it.
        return _match_key(stream, _BY_KEY, _BY_VALUE) or (JSON_LINES if stream.peek() else UNKNOWN_REASON)
    for _ in stream.items() if kind == b"[" else ():
        # The first string or object decides.
        if stream.peek() == b'"':
            return JSON_ARRAY
        if stream.peek() == b"{":
            return _match_key(stream, _BY_ITEM_KEY, {}) or UNKNOWN_REASON
    return JSON_LINES


def _match_key(
    stream: JsonStream, by_key: dict[str, Format | str], by_value: dict[tuple[str, str], Format | str]
) -> Format | str | None:
    for key in stream.members():
        if key in by_key:
            return by_key[key]
        if key == "chat" and stream.peek() == b"{":  # a string in old character cards
            return LOCI
        if by_value and key in _KEYS_WITH_VALUE and stream.peek() == b'"':
            value = _read_short_string(stream)
            if (key, value) in by_value:
                return by_value[key, value]
    return None


def _read_short_string(stream: JsonStream) -> str:
    try:
        return str(stream.value(lambda _: None, MAX_FIELDS_BYTES))
    except BrokenDocument:
        raise
    except BrokenLine:
        return ""
