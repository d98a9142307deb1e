"""loom-standard: conversations of any origin as lists of messages with roles."""

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

FORMAT = "loom-standard"

_PATH = ("conversations",)
_NAMES = {"chatgpt": "ChatGPT", "claude": "Claude"}
_KNOWN = ("role", "content", "createdAt", "model", "reasoning")


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The conversations of an export."""
    origin = name_or(facts_of(file, _PATH, report).get("originPlatform"), "", partial(report.warn, 1))
    return conversations(file, _PATH, report, partial(_chat, origin=origin))


def _chat(conversation: dict[str, Any], report: Report, origin: str) -> ParsedChat:
    other = _NAMES.get(origin.lower(), origin)
    lines = with_text(numbered(conversation.get("messages")), "content", report)
    messages = (_message(line, other, partial(report.warn, number)) for number, line in lines)
    facts = {"originPlatform": origin, **without(conversation, "messages", "title")}
    beside = kept(facts, KEPT_OF_CHAT, partial(report.warn, 1))
    head = header("", other, parse_date(conversation.get("createdAt")), loom=beside)
    return ParsedChat(head, messages, report, title_of(conversation.get("title")))


def _message(line: Mapping[str, Any], other: str, warn: Warn) -> ParsedMessage:
    role = line.get("role")
    names = {"user": USER, "system": "System"}
    name = names.get(role, other) if isinstance(role, str) else other
    extra = {key: line[key] for key in ("model", "reasoning") if isinstance(line.get(key), str) and line[key]}
    if beside := kept(without(line, *_KNOWN), KEPT_OF_MESSAGE, warn):
        extra["loom"] = beside
    version = Version(as_text(line.get("content"), warn), extra, parse_date(line.get("createdAt")))
    return message(name, role == "user", [version], is_system=role == "system")
