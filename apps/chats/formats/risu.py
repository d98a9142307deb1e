"""Parse RisuAI's chat exports: a document with one chat, or with all chats of a character."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats import conversion as convert
from apps.chats.formats.documents import parse_conversations, read_array, read_other_fields, require_messages
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.repairs import as_text

FORMAT = "risu"
# The `type` of a document with one chat, and of one with all chats of a character.
ONE_CHAT, ALL_CHATS = "risuChat", "risuAllChats"

_MESSAGES_PATH = ("data", "message")


def parse_one_chat(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """Yield the chat of a `risuChat` document: its `data` is the chat, which is read message by message."""
    chat_report = Report(FORMAT, unit="message")
    chat = convert.as_object(read_other_fields(file, _MESSAGES_PATH, chat_report).get("data"))
    yield require_messages(_chat(chat, read_array(file, _MESSAGES_PATH, chat_report), chat_report))


def parse_all_chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """Yield the chats of a `risuAllChats` document: its `data` is an array of chats."""

    def parse_chat(chat: dict[str, Any], report: Report) -> ParsedChat:
        return _chat(convert.without(chat, "message"), convert.numbered_items(chat.get("message")), report)

    return parse_conversations(file, ("data",), report, parse_chat)


def _chat(chat: Mapping[str, Any], values: Iterator[tuple[int, Any]], report: Report) -> ParsedChat:
    lines = convert.objects_with_key(values, "data", report)
    messages = (_message(line, partial(report.warn, number)) for number, line in lines)
    header = convert.build_header("", "", risu=convert.other_chat_fields(chat, ("name",), report))
    return ParsedChat(header, messages, report, convert.title_of(chat.get("name")))


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    # `role` is "user" or "char"; `data` is the text, not an object.
    is_user = line.get("role") == "user"
    extra: dict[str, Any] = {}
    if isinstance(model := convert.as_object(line.get("generationInfo")).get("model"), str):
        extra["model"] = model
    extra |= convert.other_message_fields("risu", line, ("role", "data", "time", "name"), warn)
    version = convert.Version(as_text(line.get("data"), warn), extra, parse_date(line.get("time")))
    name = convert.name_or(line.get("name"), convert.USER if is_user else "", warn)
    # A `disabled` message is shown but not sent to the model, as SillyTavern's `is_system`.
    return convert.build_message(name, is_user, [version], is_system=line.get("disabled") is True)
