"""CAI Tools' dumps of character.ai: several histories of one character, a chat each."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats.documents import conversations, facts_of
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
    with_text,
    without,
)
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.repairs import as_text

FORMAT = "cai-tools"

_HISTORIES = ("histories", "histories")


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The chats of a dump."""
    info = mapping(facts_of(file, _HISTORIES, report).get("info"))
    character = name_or(mapping(info.get("character")).get("name"), "", partial(report.warn, 1))
    return conversations(file, _HISTORIES, report, partial(_chat, character=character))


def _chat(history: dict[str, Any], report: Report, character: str) -> ParsedChat:
    lines = with_text(numbered(history.get("msgs")), "text", report)
    messages = (_message(line, character, partial(report.warn, number)) for number, line in lines)
    beside = kept(without(history, "msgs"), KEPT_OF_CHAT, partial(report.warn, 1))
    head = header("", character, parse_date(history.get("created")), cai=beside)
    return ParsedChat(head, messages, report)


def _message(line: Mapping[str, Any], character: str, warn: Warn) -> ParsedMessage:
    source = mapping(line.get("src"))
    is_user = bool(source.get("is_human"))
    beside = kept(without(line, "src", "text", "created"), KEPT_OF_MESSAGE, warn)
    version = Version(
        as_text(line.get("text"), warn), {"cai": beside} if beside else {}, parse_date(line.get("created"))
    )
    return message(name_or(source.get("name"), USER if is_user else character, warn), is_user, [version])
