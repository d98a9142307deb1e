"""Chats in JSON documents: their messages or conversations one at a time, and what stands beside them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.formats.json_lines import MAX_LINE_BYTES, BrokenLine
from apps.chats.formats.json_stream import MAX_VALUE_BYTES, BrokenDocument, JsonStream, array_at
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report, UnreadableFile

# Of all that a document says beside its messages.
MAX_FACTS_BYTES = 4 * 2**20

Reader = Callable[[dict[str, Any], Report], ParsedChat]


def values_at(
    file: BinaryIO, path: Sequence[str], report: Report, limit: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, Any]]:
    """The values of the array under the keys of `path`, with their numbers; what is broken is said in the report."""
    number = 0
    file.seek(0)
    try:
        stream = JsonStream(file)
        for number in array_at(stream, path):
            try:
                yield number, stream.value(partial(report.warn, number), limit)
            except BrokenDocument:
                raise
            except BrokenLine as broken:
                report.skip(number, str(broken))
    except BrokenDocument as broken:
        report.skip(number + 1, f"{broken} What comes from here on was left out.")


def facts_of(file: BinaryIO, path: Sequence[str], report: Report, ignored: Collection[str] = ()) -> dict[str, Any]:
    """What a document says beside what is at `path` and under the keys in `ignored`, as far as it can be read."""
    file.seek(0)
    facts: dict[str, Any] = {}
    # Where the document breaks is reported by who reads the messages.
    with suppress(BrokenDocument):
        _take_facts(JsonStream(file), facts, path, ignored, report)
    return facts


def _take_facts(
    stream: JsonStream, facts: dict[str, Any], path: Sequence[str], ignored: Collection[str], report: Report
) -> None:
    for key in stream.members() if stream.peek() == b"{" else ():
        if key == path[0] and len(path) > 1:
            facts[key] = {}
            _take_facts(stream, facts[key], path[1:], ignored, report)
        elif key != path[0] and key not in ignored:
            _take_fact(stream, facts, key, report)


def _take_fact(stream: JsonStream, facts: dict[str, Any], key: str, report: Report) -> None:
    try:
        facts[key] = stream.value(partial(report.warn, 1), max(MAX_FACTS_BYTES - stream.taken, 0))
    except BrokenDocument:
        raise
    except BrokenLine:
        report.warn(1, "Not all that the file says beside its messages was kept: it is broken, or too much.")


def conversations(file: BinaryIO, path: Sequence[str], report: Report, read: Reader) -> Iterator[ParsedChat]:
    """The chats that `read` makes of the objects at `path`; those without a message are said in the report."""
    for number, value in values_at(file, path, report, MAX_VALUE_BYTES):
        if not isinstance(value, dict):
            report.skip(number, "Not a JSON object.")
            continue
        try:
            yield primed(read(value, Report(report.format, unit="message")))
        except UnreadableFile as error:
            report.skip(number, error.reason)


def primed(chat: ParsedChat) -> ParsedChat:
    """`chat` after its first message was read. Raises UnreadableFile where there is none."""
    first = next(chat.messages, None)
    if first is None:
        reasons = [skip["reason"] for skip in chat.report.skipped_lines[:1]]
        raise UnreadableFile(" ".join(["There is no message in it.", *reasons]))
    return replace(chat, messages=_counted(first, chat.messages, chat.report))


def _counted(first: ParsedMessage, rest: Iterator[ParsedMessage], report: Report) -> Iterator[ParsedMessage]:
    report.messages += 1
    yield first
    for message in rest:
        report.messages += 1
        yield message
