"""Agnai's chats: a document with a list of messages."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats.documents import facts_of, primed, values_at
from apps.chats.formats.foreign import (
    KEPT_OF_CHAT,
    KEPT_OF_MESSAGE,
    USER,
    Version,
    header,
    kept,
    message,
    name_or,
    title_of,
    with_text,
    without,
)
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.repairs import as_text

FORMAT = "agnai"

_KNOWN = ("msg", "handle", "retries", "createdAt")


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The one chat of an export."""
    own = Report(FORMAT, unit="message")
    facts = facts_of(file, ("messages",), own)
    beside = kept(without(facts, "name"), KEPT_OF_CHAT, partial(own.warn, 1))
    messages = (
        _message(line, partial(own.warn, number))
        for number, line in with_text(values_at(file, ("messages",), own), "msg", own)
    )
    yield primed(ParsedChat(header("", "", agnai=beside), messages, own, title_of(facts.get("name"))))


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    is_user = bool(line.get("userId"))
    beside = kept(without(line, *_KNOWN), KEPT_OF_MESSAGE, warn)
    extra = {"agnai": beside} if beside else {}
    first = Version(as_text(line.get("msg"), warn), extra, parse_date(line.get("createdAt")))
    name = name_or(line.get("handle"), USER if is_user else "", warn)
    return message(name, is_user, [first, *_retries(line.get("retries"))])


def _retries(value: Any) -> list[Version]:
    """The other answers that were had."""
    return [Version(text) for text in value if isinstance(text, str)] if isinstance(value, list) else []
