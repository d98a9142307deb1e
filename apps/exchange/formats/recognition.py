"""Detect the format of a JSON document by its whole shape: all keys, in any order, and what is in them."""

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from django.utils.translation import gettext_noop

from apps.chats.message_data.layout import dump
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import (
    agnai,
    cai_tools,
    chatgpt,
    claude,
    kobold,
    librechat,
    loci,
    loom,
    oobabooga,
    openwebui,
    risu,
    role_messages,
    sillytavern,
)
from apps.exchange.formats.documents import read_array
from apps.exchange.formats.json_lines import BrokenLine
from apps.exchange.formats.json_stream import MAX_VALUE_BYTES, JsonStream
from apps.exchange.formats.parsed import ImportReport, ParsedChat, UnknownFormat, UnreadableFile
from apps.exchange.formats.shapes import ARRAY, OBJECT, Shape, read_shape, shapes_in_array

Reader = Callable[[BinaryIO, ImportReport], Iterator[ParsedChat]]


@dataclass(frozen=True)
class Format:
    """A chat format: its name, the function that reads the chats of a file, and whether an object has its shape.

    `label` is what people call it. `reads_arrays`: `read` takes a list of such objects too, or one in each line.
    """

    name: str
    label: str
    read: Reader
    matches: Callable[[Shape], bool]
    reads_arrays: bool = False


def _parse_lines(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    file.seek(0)
    yield _mark_marinara(sillytavern.parse(file))


def _parse_array(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    chat_report = ImportReport(sillytavern.FORMAT, unit="message")
    yield _mark_marinara(sillytavern.parse_values(read_array(file, (), chat_report), chat_report))


def _mark_marinara(chat: ParsedChat) -> ParsedChat:
    if "marinara_metadata" in chat.header.metadata:
        chat.report.format = "marinara"
    return chat


def _parse_each(file: BinaryIO, report: ImportReport, read: Reader) -> Iterator[ParsedChat]:
    """Yield the chats of a list of documents, each of which `read` takes as a file."""
    for number, value in read_array(file, (), report, MAX_VALUE_BYTES):
        try:
            yield from read(io.BytesIO(dump(value).encode()), report)
        except UnreadableFile as error:
            report.skip(number, error.reason)


def _has_roles(shape: Shape) -> bool:
    """Return whether an object is a message with a role, as OpenAI's API has them, or ShareGPT."""
    return shape.has("role") and shape.has_any("content", "tool_calls") and not _is_sillytavern(shape)


def _is_openwebui(shape: Shape) -> bool:
    is_row = (
        shape.is_kind("chat", OBJECT) and not shape.has("messages") and shape.holds_any("chat", "history", "messages")
    )
    return is_row or (shape.is_kind("history", OBJECT) and shape.holds("history", "messages"))


def _has_key(shape: Shape, key: str) -> bool:
    return shape.has(key)


def _is_sillytavern(shape: Shape) -> bool:
    return shape.has_any("chat_metadata", "mes", "is_user", "user_name", "character_name", "swipes")


JSON_LINES = Format(sillytavern.FORMAT, "SillyTavern", _parse_lines, _is_sillytavern)
JSON_ARRAY = Format(sillytavern.FORMAT, "SillyTavern", _parse_array, _is_sillytavern)
ROLE_MESSAGES = Format(role_messages.FORMAT, "OpenAI", role_messages.parse_messages, _has_roles, reads_arrays=True)

# Formats whose documents are one object. Each shape excludes those of the others, as far as they have keys in common.
FORMATS = (
    JSON_LINES,
    Format(
        loci.FORMAT,
        "Loci",
        loci.parse_chats,
        lambda shape: shape.is_kind("chat", OBJECT) and shape.is_kind("messages", ARRAY),
    ),
    Format(chatgpt.FORMAT, "ChatGPT", chatgpt.parse_chats, lambda shape: shape.has("mapping"), reads_arrays=True),
    Format(claude.FORMAT, "Claude", claude.parse_chats, lambda shape: shape.has("chat_messages"), reads_arrays=True),
    Format(openwebui.FORMAT, "Open WebUI", openwebui.parse_chats, _is_openwebui, reads_arrays=True),
    Format(
        librechat.FORMAT,
        "LibreChat",
        librechat.parse_chats,
        lambda shape: any(
            shape.holds_any(key, "messageId", "isCreatedByUser", "parentMessageId") for key in librechat.KEYS
        ),
        reads_arrays=True,
    ),
    Format(agnai.FORMAT, "Agnai", agnai.parse_chats, lambda shape: shape.holds("messages", "msg")),
    Format(
        role_messages.FORMAT,
        "OpenAI",
        role_messages.parse_chats,
        lambda shape: (
            shape.holds("messages", "role", "content")
            or (shape.texts.get("format") != loom.FORMAT and shape.holds("conversations", "from", "value"))
        ),
        reads_arrays=True,
    ),
    Format(loom.FORMAT, "Loom", loom.parse_chats, lambda shape: shape.texts.get("format") == loom.FORMAT),
    Format(risu.FORMAT, "RisuAI", risu.parse_one_chat, lambda shape: shape.texts.get("type") == risu.ONE_CHAT),
    Format(risu.FORMAT, "RisuAI", risu.parse_all_chats, lambda shape: shape.texts.get("type") == risu.ALL_CHATS),
    Format(
        kobold.FORMAT,
        "KoboldAI",
        kobold.parse_chats,
        lambda shape: shape.is_kind("actions", ARRAY) or shape.has_any("savedsettings", "gamestarted"),
    ),
    Format(cai_tools.FORMAT, "CAI Tools", cai_tools.parse_chats, lambda shape: shape.has("histories")),
    *(
        Format(oobabooga.FORMAT, "oobabooga", partial(oobabooga.parse_chats, key=key), partial(_has_key, key=key))
        for key in oobabooga.SHOWN_KEYS
    ),
)

# Reasons of UnreadableFile for documents that are not chats.
CARD_REASON = gettext_noop("It is a character card, not a chat. Import it with your characters.")
LOREBOOK_REASON = gettext_noop("It is a lorebook, not a chat. Import it with your lorebooks.")
PRESET_REASON = gettext_noop("It is a settings preset, not a chat.")
UNKNOWN_REASON = gettext_noop("It is JSON, but not in a supported chat format.")


def supported_formats() -> str:
    """Return a sentence that names the formats which are read."""
    labels = dict.fromkeys(format_.label for format_ in FORMATS)
    return gettext_stored("Supported are chats of %(programs)s.", programs=", ".join(labels))


def detect_format(file: BinaryIO) -> Format:
    """Return the format of a text file, by default JSON lines.

    Raise UnreadableFile if the file is recognised as something else, such as a card, and UnknownFormat.
    """
    file.seek(0)
    detected: Format | str = JSON_LINES
    with suppress(BrokenLine):  # the first of JSON lines may be broken
        detected = _detect(JsonStream(file))
    if isinstance(detected, str):
        raise (UnknownFormat if detected == UNKNOWN_REASON else UnreadableFile)(gettext_stored(detected))
    return detected


def _detect(stream: JsonStream) -> Format | str:
    kind = stream.peek()
    if kind == b"{":
        shape = read_shape(stream)
        # An object of an unknown shape may be the first of JSON lines, but not if nothing follows it.
        is_last = not stream.peek()
        if _has_roles(shape):
            return ROLE_MESSAGES
        return _format_of(shape) or _other_kind(shape) or (UNKNOWN_REASON if is_last else JSON_LINES)
    return _detect_in_array(stream) if kind == b"[" else JSON_LINES


def _detect_in_array(stream: JsonStream) -> Format | str:
    """Return the format of a list: that of its first object which has one, or of a first text."""
    found: str | None = None
    is_empty = True
    for item in shapes_in_array(stream):
        is_empty = False
        if isinstance(item, str):
            return JSON_ARRAY
        if _has_roles(item):
            return ROLE_MESSAGES
        format_ = _format_of(item)
        if format_ is JSON_LINES:
            return JSON_ARRAY
        if format_:
            return format_ if format_.reads_arrays else _of_each(format_)
        found = found or _other_kind(item)
    return JSON_LINES if is_empty else found or UNKNOWN_REASON


def _of_each(format_: Format) -> Format:
    return Format(format_.name, format_.label, partial(_parse_each, read=format_.read), format_.matches)


def _format_of(shape: Shape) -> Format | None:
    return next((format_ for format_ in FORMATS if format_.matches(shape)), None)


def _other_kind(shape: Shape) -> str | None:
    """Return the reason why an object of a known kind is no chat, or None."""
    spec = shape.texts.get("spec", "")
    is_book = shape.is_kind("entries", OBJECT, ARRAY) or shape.has("lorebookVersion") or spec.startswith("lorebook")
    is_card = shape.has_any("first_mes", "char_name", "char_greeting", "char_persona", "mes_example")
    if spec.startswith("chara_card") or (is_card and not is_book):
        return CARD_REASON
    if is_book or shape.texts.get("type") == "risu":
        return LOREBOOK_REASON
    is_preset = shape.has_any("temperature", "temp", "prompt_order", "input_sequence")
    return PRESET_REASON if is_preset else None
