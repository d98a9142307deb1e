"""Parse loom-standard exports: conversations from any platform, each an array of messages with roles."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn, as_text
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations, read_other_fields
from apps.exchange.formats.parsed import ImportReport, ParsedChat

FORMAT = "loom-standard"

_CONVERSATIONS_PATH = ("conversations",)
# The messages carry no names: the platform's name stands for the assistant's.
_ASSISTANT_NAMES = {"chatgpt": "ChatGPT", "claude": "Claude"}
_KNOWN_FIELDS = ("role", "content", "createdAt", "model", "reasoning")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the conversations of an export."""
    platform = read_other_fields(file, _CONVERSATIONS_PATH, report).get("originPlatform")
    origin = convert.name_or(platform, "", partial(report.warn, 1))
    return parse_conversations(file, _CONVERSATIONS_PATH, report, partial(_chat, origin=origin))


def _chat(conversation: dict[str, Any], report: ImportReport, origin: str) -> ParsedChat:
    assistant = _ASSISTANT_NAMES.get(origin.lower(), origin)
    lines = convert.objects_with_key(convert.numbered_items(conversation.get("messages")), "content", report)
    messages = (_message(line, assistant, partial(report.warn, number)) for number, line in lines)
    fields = {"originPlatform": origin, **conversation}
    other_fields = convert.other_chat_fields(fields, ("messages", "title"), report)
    header = convert.build_header("", assistant, parse_date(conversation.get("createdAt")), loom=other_fields)
    return ParsedChat(header, messages, report, convert.title_of(conversation.get("title")))


def _message(line: Mapping[str, Any], assistant: str, warn: Warn) -> ParsedMessage:
    role = line.get("role")
    names = {"user": convert.USER, "system": "System"}
    name = names.get(role, assistant) if isinstance(role, str) else assistant
    extra = {key: line[key] for key in ("model", "reasoning") if isinstance(line.get(key), str) and line[key]}
    extra |= convert.other_message_fields("loom", line, _KNOWN_FIELDS, warn)
    version = convert.Version(as_text(line.get("content"), warn), extra, parse_date(line.get("createdAt")))
    return convert.build_message(name, role == "user", [version], is_system=role == "system")
