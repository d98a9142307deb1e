"""Lines as models really write them, made into records. Pure.

Models bullet, number, quote, indent, embolden, fence and wrap what they write, and put headings and remarks around it.
A record is one line of ours whatever it is dressed in, with the lines that continue it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from apps.extraction.parsers.plain import MAX_REPLY, narrow, one_line, plain, sentence

MAX_ITEMS = 200  # that are taken from one reply
MAX_UNUSED = 100  # lines that are named
MAX_UNUSED_LINE = 500  # characters
MAX_RECORD = 4000  # characters of the text after a tag

T = TypeVar("T")

_OPENINGS = ("[", "［", "【", "〔")
_CLOSINGS = frozenset("]］】〕")
# Quotes, bullets, marks of bold and code, and numbers.
_LEAD = re.compile(r"(?:[\s*•·‣▪◦–—+>_~`-]+|[(（]?\d{1,3}[.)．）、](?=[\s\[［【〔*_`]))*")
_BULLET = re.compile(r"[*•·‣▪◦+-]\s|\d")
_CONTINUATION = re.compile(r"\s*(?:>\s*)*(?:[*•·‣▪◦+-]\s+)?")
_SKIPPED = re.compile(r"[\s>]*(?:(?:```|~~~)\w*|</?\w{1,40}>)\s*$")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|(\*\*|__)[^*_]{1,80}\1:?\s*$)")
_LABEL = re.compile(r"\w[^.!?]{0,60}:$")
_NONE = re.compile(r"[\W_]*none(?:\s+(?:found|identified|detected|noted|to report))?[\W_]*$", re.IGNORECASE)
_NONE_BECAUSE = re.compile(r"[\W_]*NONE\s*[.:;,(–—-]")
_TAG = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?", re.ASCII)
MAX_RANGE = 50


@dataclass(frozen=True)
class Line:
    """One line of a reply. ``lead`` is what is dress; ``written`` is the whole of it."""

    lead: str
    text: str
    written: str

    @property
    def is_bulleted(self) -> bool:
        return bool(_BULLET.search(self.lead))


@dataclass(frozen=True)
class Record:
    """A line with its continuations. ``tag`` stood in brackets before ``text``; None where there are no brackets."""

    line: str
    tag: str | None
    text: str


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What a reply held. ``unused`` are its lines that could not be read as anything."""

    items: list[T] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def is_tagged(line: Line) -> bool:
    return line.text.startswith(_OPENINGS)


def read(
    reply: str, parse: Callable[[Record], T | None], *, starts: Callable[[Line], bool] = is_tagged, bullet: str = " "
) -> Reading[T]:
    """The reply's records as ``parse`` understands them; those of which it makes None are reported as unused.

    ``starts`` says which lines begin a record; ``bullet`` joins continuations that have a bullet. NONE is neither.
    """
    items: list[T] = []
    unused: list[str] = []
    records = records_of(reply, starts, bullet)
    for record in records:
        if is_none(record):
            continue
        item = parse(record)
        if item is None:
            unused.append(record.line)
        else:
            items.append(item)
        if len(items) == MAX_ITEMS:
            break
    return Reading(items, reported(unused, sum(1 for _ in records), reply))


def reported(unused: list[str], unread: int, reply: str) -> list[str]:
    """The unused lines, each and together of a bearable length, and how much was not read at all."""
    named = [one_line(line, MAX_UNUSED_LINE) for line in unused[:MAX_UNUSED]]
    more = len(unused) - len(named) + unread
    named += [f"… and {more} more lines."] if more else []
    named += [f"… and {len(reply) - MAX_REPLY} more characters."] if len(reply) > MAX_REPLY else []
    return named


def records_of(reply: str, starts: Callable[[Line], bool] = is_tagged, bullet: str = " ") -> Iterator[Record]:
    """The records of a reply in order. A line that neither starts nor continues one is a record of its own."""
    lead, pieces = "", list[str]()
    for line in lines_of(reply):
        begins = bool(line.text) and starts(line)
        if pieces and line.text and not begins and not is_heading(line) and not _NONE.match(line.text):
            text = _CONTINUATION.sub("", line.written, count=1)
            pieces.append(f"{bullet}{text}" if line.is_bulleted else f" {text}")
            continue
        if pieces:
            yield _record(lead, "".join(pieces))
        lead, pieces = (line.lead, [line.text]) if begins else ("", [])
        if line.text and not begins:
            yield _record(line.lead, line.text)
    if pieces:
        yield _record(lead, "".join(pieces))


def lines_of(reply: str) -> Iterator[Line]:
    """The reply's lines but for code fences and lone tags; a blank line has no text."""
    for written in plain(reply).split("\n"):
        if not _SKIPPED.match(written):
            match = _LEAD.match(written)
            lead = match[0] if match else ""
            yield Line(lead, written[len(lead) :].strip(), written.strip())


def is_heading(line: Line) -> bool:
    """Whether the line names what follows: a heading, all in bold, or a few words with a colon at the end."""
    return bool(_HEADING.match(line.written)) or (line.text[:1].isupper() and bool(_LABEL.match(line.text)))


def is_none(record: Record) -> bool:
    """Whether the record says that there is nothing to say."""
    if _NONE.match(record.line) or _NONE_BECAUSE.match(record.line):
        return True
    return record.tag is not None and bool(_NONE.match(record.text))


def _record(lead: str, text: str) -> Record:
    line = " ".join(text.split())
    end = next((place for place, char in enumerate(line) if char in _CLOSINGS), -1)
    match = _TAG.fullmatch(narrow(line[: end + 1]))
    if match is None:
        return Record(line, None, sentence(_closed(lead, line), MAX_RECORD))
    return Record(line, " ".join(match[1].split()), sentence(_closed(lead, line[end + 1 :]), MAX_RECORD))


def _closed(lead: str, text: str) -> str:
    """The text without the closing marks of which the opening ones stood in its lead."""
    marks = "".join(mark for mark in "*_~`" if mark in lead)
    if not marks:
        return text
    text = text.lstrip(marks)
    kept = text.rstrip(marks)
    end = text[len(kept) :]
    return kept if end and kept.count(end[-1]) % 2 == 0 else text


def word_of(tag: str) -> str:
    """A tag or a part of it in lower case, without marks."""
    return " ".join(tag.strip(" *_`~#\"'").lower().split())


def numbers_in(text: str) -> tuple[int, ...]:
    """The whole numbers of a list such as "1, #4 and 6-8", each once, in order."""
    found: list[int] = []
    for first, last in _NUMBERS.findall(text):
        end = int(last or first)
        found += range(int(first), end + 1) if 0 <= end - int(first) <= MAX_RANGE else (int(first), end)
    return tuple(dict.fromkeys(found))
