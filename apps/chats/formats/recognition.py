"""Detect the format of a JSON document by its keys, reading only up to the first key that decides."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

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


def _lines(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    file.seek(0)
    yield _mark_marinara(sillytavern.parse(file))


def _list(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    own = Report(sillytavern.FORMAT, unit="message")
    yield _mark_marinara(sillytavern.parse_values(read_array(file, (), own), own))


def _mark_marinara(chat: ParsedChat) -> ParsedChat:
    if "marinara_metadata" in chat.header.metadata:
        chat.report.format = "marinara"
    return chat


LINES = Format(sillytavern.FORMAT, _lines)
LIST = Format(sillytavern.FORMAT, _list)

# Reasons of UnreadableFile for documents that are no chats.
CARD = "It is a character card, and no chat. Import it with your characters."
LOREBOOK = "It is a lorebook, and no chat. Import it with your lorebooks."
PRESET = "It is a preset of settings, and no chat."
UNKNOWN = "It is JSON, but no chat format that is supported."

# Formats by a key of the top-level object. The first key of the document that is listed here decides.
_BY_KEY: dict[str, Format | str] = {
    **dict.fromkeys(("chat_metadata", "user_name", "character_name", "mes", "is_user"), LINES),
    **dict.fromkeys(("savedsettings", "gamestarted", "actions"), Format(kobold.FORMAT, kobold.parse_chats)),
    "histories": Format(cai_tools.FORMAT, cai_tools.parse_chats),
    **{key: Format(oobabooga.FORMAT, partial(oobabooga.parse_chats, key=key)) for key in oobabooga.SHOWN_KEYS},
    "messages": Format(agnai.FORMAT, agnai.parse_chats),
    **dict.fromkeys(("first_mes", "char_name", "char_greeting", "char_persona", "mes_example"), CARD),
    **dict.fromkeys(("entries", "lorebookVersion"), LOREBOOK),
    **dict.fromkeys(("temperature", "temp", "prompt_order", "input_sequence"), PRESET),
}
# Formats by a key of the first object in a top-level array.
_BY_KEY_IN_LIST: dict[str, Format | str] = {
    "mapping": Format(chatgpt.FORMAT, chatgpt.parse_chats),
    "chat_messages": Format(claude.FORMAT, claude.parse_chats),
    **dict.fromkeys(("mes", "is_user", "chat_metadata", "user_name", "character_name", "swipes"), LIST),
}
# Formats by a key and its value, where other programs use the same key.
_BY_VALUE: dict[tuple[str, str], Format | str] = {
    ("type", risu.ONE): Format(risu.FORMAT, risu.parse_one_chat),
    ("type", risu.ALL): Format(risu.FORMAT, risu.parse_all_chats),
    ("format", loom.FORMAT): Format(loom.FORMAT, loom.parse_chats),
    **dict.fromkeys((("spec", "chara_card_v2"), ("spec", "chara_card_v3")), CARD),
    **dict.fromkeys((("type", "risu"), ("kind", "memory"), ("spec", "lorebook_v3")), LOREBOOK),
}
LOCI = Format(loci.FORMAT, loci.parse_chats)
_KEYS_WITH_VALUE = {key for key, _ in _BY_VALUE}


def detect_format(file: BinaryIO) -> Format:
    """Return the format of a text file, by default JSON lines.

    Raise UnreadableFile if the file is recognised as something else, such as a card.
    """
    file.seek(0)
    found: Format | str = LINES
    with suppress(BrokenLine):  # the first of JSON lines may be broken
        found = _detect(JsonStream(file))
    if isinstance(found, str):
        raise UnreadableFile(found)
    return found


def _detect(stream: JsonStream) -> Format | str:
    kind = stream.peek()
    if kind == b"{":
        # An object without known keys may be the first of JSON lines, but not if nothing follows it.
        return _match_key(stream, _BY_KEY, _BY_VALUE) or (LINES if stream.peek() else UNKNOWN)
    for _ in stream.items() if kind == b"[" else ():
        # The first string or object decides.
        if stream.peek() == b'"':
            return LIST
        if stream.peek() == b"{":
            return _match_key(stream, _BY_KEY_IN_LIST, {}) or UNKNOWN
    return LINES


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
