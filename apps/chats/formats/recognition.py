"""Tells JSON documents apart by their keys, reading no more of them than it takes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from apps.chats.formats import agnai, cai_tools, chatgpt, claude, kobold, loci, loom, oobabooga, risu, sillytavern
from apps.chats.formats.documents import MAX_FACTS_BYTES, values_at
from apps.chats.formats.json_lines import BrokenLine
from apps.chats.formats.json_stream import BrokenDocument, JsonStream
from apps.chats.formats.parsed import ParsedChat, Report, UnreadableFile


@dataclass(frozen=True)
class Format:
    """A format by its name, and what reads the chats of a file of it."""

    name: str
    read: Callable[[BinaryIO, Report], Iterator[ParsedChat]]


def _lines(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    file.seek(0)
    yield _named(sillytavern.parse(file))


def _list(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    own = Report(sillytavern.FORMAT, unit="message")
    yield _named(sillytavern.parse_values(values_at(file, (), own), own))


def _named(chat: ParsedChat) -> ParsedChat:
    if "marinara_metadata" in chat.header.metadata:
        chat.report.format = "marinara"
    return chat


LINES = Format(sillytavern.FORMAT, _lines)
LIST = Format(sillytavern.FORMAT, _list)
KOBOLD = Format(kobold.FORMAT, kobold.chats)

CARD = "It is a character card, and no chat. Import it with your characters."
LOREBOOK = "It is a lorebook, and no chat. Import it with your lorebooks."
PRESET = "It is a preset of settings, and no chat."
UNKNOWN = "It is JSON, but of no chat format that is read here."

# What a key alone tells; the first that is met decides.
_BY_KEY: dict[str, Format | str] = {
    **dict.fromkeys(("chat_metadata", "user_name", "character_name", "mes", "is_user"), LINES),
    **dict.fromkeys(("savedsettings", "gamestarted", "actions"), KOBOLD),
    "histories": Format(cai_tools.FORMAT, cai_tools.chats),
    **{key: Format(oobabooga.FORMAT, partial(oobabooga.chats, key=key)) for key in oobabooga.SHOWN_KEYS},
    "messages": Format(agnai.FORMAT, agnai.chats),
    **dict.fromkeys(("first_mes", "char_name", "char_greeting", "char_persona", "mes_example"), CARD),
    **dict.fromkeys(("entries", "lorebookVersion"), LOREBOOK),
    **dict.fromkeys(("temperature", "temp", "prompt_order", "input_sequence"), PRESET),
}
_BY_KEY_IN_LIST: dict[str, Format | str] = {
    "mapping": Format(chatgpt.FORMAT, chatgpt.chats),
    "chat_messages": Format(claude.FORMAT, claude.chats),
    **dict.fromkeys(("mes", "is_user", "chat_metadata", "user_name", "character_name", "swipes"), LIST),
}
# What a value tells whose key alone says nothing.
_BY_VALUE: dict[tuple[str, str], Format | str] = {
    ("type", risu.ONE): Format(risu.FORMAT, risu.one_chat),
    ("type", risu.ALL): Format(risu.FORMAT, risu.all_chats),
    ("format", loom.FORMAT): Format(loom.FORMAT, loom.chats),
    **dict.fromkeys((("spec", "chara_card_v2"), ("spec", "chara_card_v3")), CARD),
    **dict.fromkeys((("type", "risu"), ("kind", "memory"), ("spec", "lorebook_v3")), LOREBOOK),
}
LOCI = Format(loci.FORMAT, loci.chats)
_TELLING = {key for key, _ in _BY_VALUE}


def recognise(file: BinaryIO) -> Format:
    """The format of a file that is neither an archive nor a picture; where nothing tells, that of lines.

    Raises UnreadableFile, with what it is, where it is something else than a chat.
    """
    file.seek(0)
    found: Format | str = LINES
    with suppress(BrokenLine):  # a file of lines may have a broken one in front
        found = _found(JsonStream(file))
    if isinstance(found, str):
        raise UnreadableFile(found)
    return found


def _found(stream: JsonStream) -> Format | str:
    kind = stream.peek()
    if kind == b"{":
        # Lines may start with an object that tells nothing; a document that is alone has said all.
        return _told_by(stream, _BY_KEY, _BY_VALUE) or (LINES if stream.peek() else UNKNOWN)
    for _ in stream.items() if kind == b"[" else ():
        # The first string or object tells.
        if stream.peek() == b'"':
            return LIST
        if stream.peek() == b"{":
            return _told_by(stream, _BY_KEY_IN_LIST, {}) or UNKNOWN
    return LINES


def _told_by(
    stream: JsonStream, by_key: dict[str, Format | str], by_value: dict[tuple[str, str], Format | str]
) -> Format | str | None:
    for key in stream.members():
        if key in by_key:
            return by_key[key]
        if key == "chat" and stream.peek() == b"{":  # in old cards it is a string
            return LOCI
        if by_value and key in _TELLING and stream.peek() == b'"':
            value = _short(stream)
            if (key, value) in by_value:
                return by_value[key, value]
    return None


def _short(stream: JsonStream) -> str:
    try:
        return str(stream.value(lambda _: None, MAX_FACTS_BYTES))
    except BrokenDocument:
        raise
    except BrokenLine:
        return ""
