"""Parse Agnai's chat export: an object with the chat's fields and an array `messages`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats import conversion as convert
from apps.chats.formats.documents import read_array, read_other_fields, require_messages
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.repairs import as_text

FORMAT = "agnai"

_KNOWN_FIELDS = ("msg", "handle", "retries", "createdAt")


def parse_chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """Yield the one chat of an export."""
    own = Report(FORMAT, unit="message")
    fields = read_other_fields(file, ("messages",), own)
    head = convert.header("", "", agnai=convert.other_chat_fields(fields, ("name",), own))
    lines = convert.objects_with_key(read_array(file, ("messages",), own), "msg", own)
    messages = (_message(line, partial(own.warn, number)) for number, line in lines)
    yield require_messages(ParsedChat(head, messages, own, convert.title_of(fields.get("name"))))


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    # Only the messages of people have a `userId`; those of characters have a `characterId`.
    is_user = bool(line.get("userId"))
    extra = convert.other_message_fields("agnai", line, _KNOWN_FIELDS, warn)
    first = convert.Version(as_text(line.get("msg"), warn), extra, parse_date(line.get("createdAt")))
    # `handle` is the speaker's name as displayed.
    name = convert.name_or(line.get("handle"), convert.USER if is_user else "", warn)
    # `retries` holds the texts of discarded answers; `msg` is the one that was kept.
    texts = [text for _, text in convert.numbered_items(line.get("retries")) if isinstance(text, str)]
    return convert.message(name, is_user, [first, *map(convert.Version, texts)])
