"""Read chats from JSON documents: messages or conversations one at a time, and the fields around them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.message_data.parsed import ParsedMessage
from apps.common.stored_texts import gettext_stored, joined_texts
from apps.exchange.formats.json_lines import MAX_LINE_BYTES, BrokenLine
from apps.exchange.formats.json_stream import MAX_VALUE_BYTES, BrokenDocument, JsonStream, array_at
from apps.exchange.formats.parsed import ImportReport, ParsedChat, UnreadableFile

# The size of all fields of a document other than its messages.
MAX_FIELDS_BYTES = 4 * 2**20

ChatParser = Callable[[dict[str, Any], ImportReport], ParsedChat]


def read_array(
    file: BinaryIO, path: Sequence[str], report: ImportReport, limit: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, Any]]:
    """Yield the values of the array at `path` with their numbers, from 1. Report broken values as skipped.

    At an empty path a document that is no array has its values: one object, or one in each line.
    """
    number = 0
    file.seek(0)
    try:
        stream = JsonStream(file)
        is_lines = not path and stream.peek() != b"["
        for number in stream.values() if is_lines else array_at(stream, path):
            try:
                yield number, stream.value(partial(report.warn, number), limit)
            except BrokenDocument:
                raise
            except BrokenLine as broken:
                report.skip(number, str(broken))
    except BrokenDocument as broken:
        report.skip(number + 1, gettext_stored("%(reason)s The rest of the file was left out.", reason=broken))


def read_other_fields(
    file: BinaryIO, path: Sequence[str], report: ImportReport, ignored: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of a document except the array at `path` and the keys in `ignored`, up to the first error."""
    file.seek(0)
    fields: dict[str, Any] = {}
    # The error is reported by `read_array`, which reads the same document.
    with suppress(BrokenDocument):
        _read_fields(JsonStream(file), fields, path, ignored, report)
    return fields


def _read_fields(
    stream: JsonStream, fields: dict[str, Any], path: Sequence[str], ignored: Collection[str], report: ImportReport
) -> None:
    for key in stream.members() if stream.peek() == b"{" else ():
        if key == path[0] and len(path) > 1:
            fields[key] = {}
            _read_fields(stream, fields[key], path[1:], ignored, report)
        elif key != path[0] and key not in ignored:
            _read_field(stream, fields, key, report)


def _read_field(stream: JsonStream, fields: dict[str, Any], key: str, report: ImportReport) -> None:
    try:
        fields[key] = stream.value(partial(report.warn, 1), max(MAX_FIELDS_BYTES - stream.bytes_read, 0))
    except BrokenDocument:
        raise
    except BrokenLine:
        report.warn(1, gettext_stored("Some data other than the messages was left out: it is damaged or too large."))


def parse_conversations(
    file: BinaryIO, path: Sequence[str], report: ImportReport, parse: ChatParser
) -> Iterator[ParsedChat]:
    """Yield the chats that `parse` makes of the objects at `path`. Report those without messages as skipped."""
    for number, value in read_array(file, path, report, MAX_VALUE_BYTES):
        if not isinstance(value, dict):
            report.skip(number, gettext_stored("Not a JSON object."))
            continue
        try:
            yield require_messages(parse(value, ImportReport(report.format, unit="message")))
        except UnreadableFile as error:
            report.skip(number, error.reason)


def require_messages(chat: ParsedChat) -> ParsedChat:
    """Read the first message of `chat`, and return the chat with all of them. Raise UnreadableFile if there is none."""
    first = next(chat.messages, None)
    if first is None:
        reasons = [skip["reason"] for skip in chat.report.skipped_lines[:1]]
        raise UnreadableFile(joined_texts(gettext_stored("There is no message in it."), *reasons))
    return replace(chat, messages=_count_messages(first, chat.messages, chat.report))


def _count_messages(
    first: ParsedMessage, rest: Iterator[ParsedMessage], report: ImportReport
) -> Iterator[ParsedMessage]:
    report.messages += 1
    yield first
    for message in rest:
        report.messages += 1
        yield message
