"""Parse SillyTavern's chat files: JSON lines, first a header and then the messages.

All variants since 2022 are read, one line at a time, so that memory is bounded by the longest line. Lines that can't be
used are skipped and reported. Messages and header have a `layout`, from which the file can be rebuilt exactly.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from apps.chats.limits import MAX_SWIPES
from apps.chats.message_data.parsed import ParsedMessage
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats.json_lines import MAX_LINE_BYTES, BrokenLine, bounded_lines, loads
from apps.exchange.formats.parsed import ImportReport, ParsedChat, ParsedHeader, UnknownFormat, UnreadableFile
from apps.exchange.formats.signatures import binary_kind
from apps.exchange.formats.sillytavern_lines import parse_header, parse_message

FORMAT = "sillytavern"

_HEADER_KEYS = {"chat_metadata", "user_name", "character_name"}
_TEXT_KEYS = {"mes", "swipes"}
_TURN_KEYS = {"is_user", "is_system", "send_date"}
# The user's name in TavernAI's chats of 2022, before it could be set.
_DEFAULT_USER = "You"

# The header of files that start with a message.
NO_HEADER = ParsedHeader("", "", None, {}, layout="{}")

Line = tuple[int, bytes | None]
Record = tuple[int, dict[str, Any]]


def parse(source: BinaryIO | Iterable[bytes]) -> ParsedChat:
    """Parse the chat in `source`, a binary file or its lines.

    The first line is read at once, the rest as the messages are consumed. Raise UnreadableFile if there is neither a
    header nor a message.
    """
    report = ImportReport(FORMAT)
    return _chat(_records(_lines(source), report), report)


def parse_values(values: Iterable[tuple[int, Any]], report: ImportReport) -> ParsedChat:
    """Parse a chat from the numbered values of an array: a header, messages, or strings "Name: text".

    Skips and repairs go to `report`. Raise UnreadableFile as `parse` does.
    """
    messages = ((number, _message_of_string(v) if isinstance(v, str) else v) for number, v in values)
    return _chat(_usable_records(messages, report), report)


def _chat(records: Iterator[Record], report: ImportReport) -> ParsedChat:
    first = next(records, None)
    if first is None:
        if not report.skipped:
            raise UnreadableFile(gettext_stored("The file is empty."))
        reason = report.skipped_lines[0]["reason"]
        raise UnknownFormat(gettext_stored("No line of the file is a chat message. Line 1: %(reason)s", reason=reason))
    number, line = first
    if _is_header(line):
        header = parse_header(line, partial(report.warn, number))
    else:
        header, records = NO_HEADER, chain([first], records)
    return ParsedChat(header, _messages(records, header, report), report)


def _lines(source: BinaryIO | Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines that are not blank with their numbers, from 1."""
    for number, line in enumerate(bounded_lines(source), 1):
        if number == 1 and line is not None:
            if (kind := binary_kind(line)) is not None:
                raise UnreadableFile(gettext_stored("The file is not a chat: it is %(kind)s.", kind=kind))
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line is None or line.strip():
            yield number, line


def _records(lines: Iterator[Line], report: ImportReport) -> Iterator[Record]:
    """Yield the objects that are messages or the header, with their line numbers."""
    first = next(lines, None)
    if first is None:
        return
    candidates: Iterator[Line] = chain([first], lines)
    if first[1] is not None and first[1].lstrip().startswith(b"["):
        values, candidates = _read_array(candidates, report)
        yield from _usable_records(enumerate(values, 1), report)
    yield from _usable_records(_parse_lines(candidates, report), report)


def _parse_lines(lines: Iterable[Line], report: ImportReport) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        if line is None:
            report.skip(number, gettext_stored("Longer than %(megabytes)s MB.", megabytes=MAX_LINE_BYTES // 2**20))
            continue
        try:
            yield number, loads(line, partial(report.warn, number))
        except BrokenLine as broken:
            report.skip(number, str(broken))


def _usable_records(values: Iterable[tuple[int, Any]], report: ImportReport) -> Iterator[Record]:
    """Yield the values that are messages or the header. Report the others as skipped."""
    may_be_header = True
    for number, value in values:
        reason = _reason_unusable(value, may_be_header)
        if reason:
            report.skip(number, reason)
        else:
            may_be_header = False
            yield number, value


def _reason_unusable(value: Any, may_be_header: bool) -> str | None:
    if not isinstance(value, dict):
        return gettext_stored("Not a JSON object.")
    if _is_header(value):
        return None if may_be_header else gettext_stored("A second header.")
    if not _is_message(value):
        return gettext_stored("Neither a message nor a header: it has no mes.")
    swipes = value.get("swipes")
    if isinstance(swipes, list) and len(swipes) > MAX_SWIPES:
        return gettext_stored("More than %(max_swipes)s swipes.", max_swipes=MAX_SWIPES)
    return None


def _is_header(value: Mapping[str, Any]) -> bool:
    return bool(_HEADER_KEYS & value.keys()) and not _is_message(value)


def _is_message(value: Mapping[str, Any]) -> bool:
    """Return whether `value` has a text, or a name and another key of messages: character cards have a name too."""
    return bool(_TEXT_KEYS & value.keys()) or ("name" in value and bool(_TURN_KEYS & value.keys()))


def _read_array(lines: Iterator[Line], report: ImportReport) -> tuple[list[Any], Iterator[Line]]:
    """Read a file of 2022, one array of strings "Name: text". Return its values as messages, and no lines.

    If the file is not such an array, return no values and the unread lines.
    """
    read_lines: list[Line] = []
    warnings: list[str] = []
    size = 0
    for line in lines:
        read_lines.append(line)
        size += len(line[1] or b"")
        if line[1] is None or size > MAX_LINE_BYTES:
            return [], chain(read_lines, lines)
    try:
        values = loads(b"".join(text for _, text in read_lines if text), warnings.append)
    except BrokenLine:
        return [], iter(read_lines)
    for warning in warnings:
        report.warn(1, warning)
    return [_message_of_string(v) if isinstance(v, str) else v for v in values], iter(())


def _message_of_string(text: str) -> dict[str, Any]:
    name, colon, mes = text.partition(":")
    if not colon:
        name, mes = "", text
    return {"name": name, "is_user": name == _DEFAULT_USER, "is_system": False, "mes": mes.strip()}


def _messages(records: Iterator[Record], header: ParsedHeader, report: ImportReport) -> Iterator[ParsedMessage]:
    for number, line in records:
        message = parse_message(line, header, partial(report.warn, number))
        report.messages += 1
        yield message
