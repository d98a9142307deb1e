"""Parse Loci's JSON export: a chat and its messages as the API renders them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.exchange.formats.conversion import as_object, name_or, objects_with_key, title_of
from apps.exchange.formats.documents import read_array, read_other_fields, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedChat, ParsedHeader
from apps.exchange.formats.sillytavern_lines import parse_message

FORMAT = "loci"

# Ids, revisions and positions are not read: the imported chat gets new ones.
_MESSAGE_KEYS = ("name", "is_user", "is_system", "send_date", "mes", "extra", "swipe_id", "swipes", "swipe_info")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the one chat of an export."""
    chat_report = ImportReport(FORMAT, unit="message")
    chat = as_object(read_other_fields(file, ("messages",), chat_report).get("chat"))
    header = ParsedHeader(
        user_name=name_or(chat.get("user_name"), "", partial(chat_report.warn, 1)),
        character_name="",
        created_at=parse_date(chat.get("created_at")),
        metadata=as_object(chat.get("metadata")),
        layout="",
        lorebooks=books if isinstance(books := chat.get("lorebooks"), list) else (),
    )
    lines = objects_with_key(read_array(file, ("messages",), chat_report), "mes", chat_report)
    messages = (_message(line, header, chat_report, number) for number, line in lines)
    yield require_messages(ParsedChat(header, messages, chat_report, title_of(chat.get("title"))))


def _message(line: dict[str, Any], header: ParsedHeader, report: ImportReport, number: int) -> ParsedMessage:
    known = {key: line[key] for key in _MESSAGE_KEYS if key in line}
    return replace(parse_message(known, header, partial(report.warn, number)), layout="")
