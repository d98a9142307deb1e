"""Our own JSON export: a chat and its messages, as the API shows them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats.documents import facts_of, primed, values_at
from apps.chats.formats.foreign import mapping, name_or, title_of, with_text
from apps.chats.formats.parsed import ParsedChat, ParsedHeader, ParsedMessage, Report
from apps.chats.formats.sillytavern_lines import parse_message

FORMAT = "loci"

# Ids, revisions and places are given anew.
_KEYS = ("name", "is_user", "is_system", "send_date", "mes", "extra", "swipe_id", "swipes", "swipe_info")


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The one chat of an export."""
    own = Report(FORMAT, unit="message")
    chat = mapping(facts_of(file, ("messages",), own).get("chat"))
    head = ParsedHeader(
        user_name=name_or(chat.get("user_name"), "", partial(own.warn, 1)),
        character_name="",
        created_at=parse_date(chat.get("created_at")),
        metadata=mapping(chat.get("metadata")),
        layout="",
    )
    lines = with_text(values_at(file, ("messages",), own), "mes", own)
    messages = (_message(line, head, own, number) for number, line in lines)
    yield primed(ParsedChat(head, messages, own, title_of(chat.get("title"))))


def _message(line: dict[str, Any], head: ParsedHeader, report: Report, number: int) -> ParsedMessage:
    known = {key: line[key] for key in _KEYS if key in line}
    return replace(parse_message(known, head, partial(report.warn, number)), layout="")
