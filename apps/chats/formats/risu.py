"""RisuAI's chats: one in a document, or all of a character."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats.documents import conversations, facts_of, primed, values_at
from apps.chats.formats.foreign import (
    KEPT_OF_CHAT,
    KEPT_OF_MESSAGE,
    USER,
    Version,
    header,
    kept,
    mapping,
    message,
    name_or,
    numbered,
    title_of,
    with_text,
    without,
)
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.repairs import as_text

FORMAT = "risu"
ONE, ALL = "risuChat", "risuAllChats"

_MESSAGES = ("data", "message")


def one_chat(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    own = Report(FORMAT, unit="message")
    chat = mapping(facts_of(file, _MESSAGES, own).get("data"))
    lines = with_text(values_at(file, _MESSAGES, own), "data", own)
    yield primed(_chat(chat, lines, own))


def all_chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    return conversations(file, ("data",), report, _whole_chat)


def _whole_chat(chat: dict[str, Any], report: Report) -> ParsedChat:
    return _chat(without(chat, "message"), with_text(numbered(chat.get("message")), "data", report), report)


def _chat(chat: Mapping[str, Any], lines: Iterator[tuple[int, dict[str, Any]]], report: Report) -> ParsedChat:
    beside = kept(without(chat, "name"), KEPT_OF_CHAT, partial(report.warn, 1))
    messages = (_message(line, partial(report.warn, number)) for number, line in lines)
    return ParsedChat(header("", "", risu=beside), messages, report, title_of(chat.get("name")))


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    is_user = line.get("role") == "user"
    extra: dict[str, Any] = {}
    if isinstance(model := mapping(line.get("generationInfo")).get("model"), str):
        extra["model"] = model
    if beside := kept(without(line, "role", "data", "time", "name"), KEPT_OF_MESSAGE, warn):
        extra["risu"] = beside
    version = Version(as_text(line.get("data"), warn), extra, parse_date(line.get("time")))
    name = name_or(line.get("name"), USER if is_user else "", warn)
    return message(name, is_user, [version], is_system=line.get("disabled") is True)
