"""Parse the character.ai dumps of CAI Tools: several histories of one character, each a chat."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn, as_text
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations, read_other_fields
from apps.exchange.formats.parsed import ImportReport, ParsedChat

FORMAT = "cai-tools"

# The array `histories` is a field of an object that is called `histories` too.
_HISTORIES_PATH = ("histories", "histories")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the chats of a dump."""
    info = convert.as_object(read_other_fields(file, _HISTORIES_PATH, report).get("info"))
    character = convert.name_or(convert.as_object(info.get("character")).get("name"), "", partial(report.warn, 1))
    return parse_conversations(file, _HISTORIES_PATH, report, partial(_chat, character=character))


def _chat(history: dict[str, Any], report: ImportReport, character: str) -> ParsedChat:
    lines = convert.objects_with_key(convert.numbered_items(history.get("msgs")), "text", report)
    messages = (_message(line, character, partial(report.warn, number)) for number, line in lines)
    other_fields = convert.other_chat_fields(history, ("msgs",), report)
    header = convert.build_header("", character, parse_date(history.get("created")), cai=other_fields)
    return ParsedChat(header, messages, report)


def _message(line: Mapping[str, Any], character: str, warn: Warn) -> ParsedMessage:
    # `src` is the speaker: a person (`is_human`) or the character.
    source = convert.as_object(line.get("src"))
    is_user = bool(source.get("is_human"))
    extra = convert.other_message_fields("cai", line, ("src", "text", "created"), warn)
    version = convert.Version(as_text(line.get("text"), warn), extra, parse_date(line.get("created")))
    name = convert.name_or(source.get("name"), convert.USER if is_user else character, warn)
    return convert.build_message(name, is_user, [version])
