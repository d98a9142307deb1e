"""Split a reply into records: tagged lines, each with the lines that continue it. Without database access.

Models add bullets, numbers, quotes, indentation, bold, code fences and line wraps to the lines they are asked for, and
put headings and remarks around them. Records contain none of these.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Generic, TypeVar

from apps.extraction.parsers.json_objects import lines_of_objects
from apps.extraction.parsers.shapes import as_lines, split_tags, usual_tag
from apps.extraction.parsers.text_cleanup import LEADING_MARKS, MAX_REPLY, clean_line, clean_reply, halfwidth, one_line

MAX_ITEMS = 200  # items parsed from one reply
MAX_UNUSED = 100  # unused lines that are listed
MAX_UNUSED_LINE = 500  # characters
MAX_RECORD = 4000  # characters of the text after a tag

T = TypeVar("T")

_OPENINGS = ("[", "［", "【", "〔")
_CLOSINGS = frozenset("]］】〕")
_BULLET = re.compile(r"[*•·‣▪◦+-]\s|\d")
_CONTINUATION = re.compile(r"\s*(?:>\s*)*(?:[*•·‣▪◦+-]\s+)?")
_FENCE_OR_TAG = re.compile(r"[\s>]*(?:(?:```|~~~)\w*|</?\w{1,40}>)\s*$")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|(\*\*|__)[^*_]{1,80}\1:?\s*$)")
_LABEL = re.compile(r"\w[^.!?]{0,60}:$")
_NONE_REMARK = re.compile(r"[\W_]*none(?:\s+(?:found|identified|detected|noted|to report))?[\W_]*$", re.IGNORECASE)
_NONE_WITH_REASON = re.compile(r"[\W_]*NONE[*_`\s]*[.:;,(–—-]")
_TAG = re.compile(r"\[([^\[\]]*)\]")
# What a model adds to a line to explain it: several words in parentheses, or a word or two, a colon and more.
_EXPLANATION = re.compile(
    r"[*_]{0,3}(?:[(（]\S+\s+\S+\s.*[)）][*_.]*$|[^\W\d_]\w*(?: \w+)?[*_]{0,3}[:：]\s*[*_]{0,3}\s*\S)"
)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»」*_)\]]*\s*$")
_NUMBERS = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?", re.ASCII)
MAX_RANGE = 50


@dataclass(frozen=True)
class Line:
    """One line of a reply: ``lead`` (bullet, number, marks), the ``text`` after it, and the line as ``written``."""

    lead: str
    text: str
    written: str

    @property
    def is_bulleted(self) -> bool:
        return bool(_BULLET.search(self.lead))


@dataclass(frozen=True)
class Record:
    """A line with its continuations: ``tag`` from the brackets at its start (None without brackets) and ``text``.

    ``lead`` are the bullet, number and marks before it.
    """

    line: str
    tag: str | None
    text: str
    lead: str = ""

    @property
    def written(self) -> str:
        """Return the line with its lead: in an answer such as "1. UPDATE" that has the number."""
        return f"{self.lead}{self.line}".strip()


@dataclass(frozen=True)
class ParsedLines(Generic[T]):
    """Items parsed from a reply, and the lines that could not be used."""

    items: list[T] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def is_mostly_unused(reply: str, parsed: ParsedLines[Any]) -> bool:
    """Return whether more lines of a reply could not be used than could.

    Headings and what a model says before and after its lines don't count, nor, if it says NONE, why.
    """
    lines = list(iter_lines(reply))
    remarks = {one_line(line.text) for line in lines if is_heading(line)} | _surrounding_remarks(lines)
    unused = [line for line in parsed.unused if one_line(line) not in remarks]
    if any(map(says_none, iter_records(reply))):
        unused = [line for line in unused if line.startswith(_OPENINGS)]
    return len(unused) > len(parsed.items)


def _surrounding_remarks(lines: Sequence[Line]) -> set[str]:
    """Return the sentences that open and close a reply, a blank line apart from the rest or ending with a colon."""
    paragraphs = [list(group) for is_text, group in groupby(lines, lambda line: bool(line.text)) if is_text]
    outer = [*paragraphs[:1], *paragraphs[1:][-1:]] if len(paragraphs) > 1 else []
    alone = [one[0] for one in outer if len(one) == 1]
    alone += [line for line in lines if line.text.endswith((":", "："))]
    return {one_line(line.text) for line in alone if not is_tagged(line) and not line.is_bulleted}


def is_tagged(line: Line) -> bool:
    """Return whether a line begins with an opening bracket."""
    return line.text.startswith(_OPENINGS)


def parse_lines(
    reply: str, parse: Callable[[Record], T | None], *, starts: Callable[[Line], bool] = is_tagged, bullet: str = " "
) -> ParsedLines[T]:
    """Parse each record of a reply with ``parse``; a record for which it returns None is listed as unused.

    ``starts`` tells which lines begin a record; ``bullet`` joins continuation lines that have a bullet. Records that
    say NONE are skipped. If no line can be parsed, JSON objects are parsed as lines instead.
    """
    parsed = _parse_lines(reply, parse, starts, bullet)
    if parsed.items or "{" not in reply:
        return parsed
    objects = lines_of_objects(reply)
    from_objects = _parse_lines(objects, parse, starts, bullet) if objects else parsed
    return from_objects if from_objects.items else parsed


def _parse_lines(
    reply: str, parse: Callable[[Record], T | None], starts: Callable[[Line], bool], bullet: str
) -> ParsedLines[T]:
    items: list[T] = []
    unused: list[str] = []
    records = iter_records(reply, starts, bullet)
    for record in records:
        if says_none(record):
            continue
        item = parse(record)
        if item is None:
            unused.append(record.line)
        else:
            items.append(item)
        if len(items) == MAX_ITEMS:
            break
    # The generator still holds the records after the last one that was parsed.
    return ParsedLines(items, unused_report(unused, sum(1 for _ in records), reply))


def unused_report(unused: list[str], unread: int, reply: str) -> list[str]:
    """Return the unused lines, shortened, with a note of how many more lines and characters were not parsed."""
    report = [one_line(line, MAX_UNUSED_LINE) for line in unused[:MAX_UNUSED]]
    more = len(unused) - len(report) + unread
    report += [f"… and {more} more lines."] if more else []
    report += [f"… and {len(reply) - MAX_REPLY} more characters."] if len(reply) > MAX_REPLY else []
    return report


def iter_records(reply: str, starts: Callable[[Line], bool] = is_tagged, bullet: str = " ") -> Iterator[Record]:
    """Yield the records of a reply in order. A line that neither starts nor continues a record is its own record."""
    lead, pieces = "", list[str]()
    for line in iter_lines(reply):
        begins = bool(line.text) and starts(line)
        if pieces and line.text and not begins and _continues(line, lead, pieces[-1]):
            text = _CONTINUATION.sub("", line.written, count=1)
            pieces.append(f"{bullet}{text}" if line.is_bulleted else f" {text}")
            continue
        if pieces:
            yield from _make_records(lead, "".join(pieces))
        lead, pieces = (line.lead, [line.text]) if begins else ("", [])
        if line.text and not begins:
            yield from _make_records(line.lead, line.text)
    if pieces:
        yield from _make_records(lead, "".join(pieces))


def _continues(line: Line, lead: str, before: str) -> bool:
    """Return whether a line without a tag continues the record with ``lead`` and the text ``before`` the line.

    Headings don't, nor items of the same list, nor what explains a whole sentence.
    """
    if is_heading(line) or _NONE_REMARK.match(line.text):
        return False
    if _BULLET.search(lead) and line.is_bulleted and _indentation(line.lead) <= _indentation(lead):
        return False
    return not (_EXPLANATION.match(line.text) and _SENTENCE_END.search(before))


def _indentation(lead: str) -> int:
    return len(lead) - len(lead.lstrip(" \t"))


def iter_lines(reply: str) -> Iterator[Line]:
    """Yield the lines of a reply. Blank ones have an empty text, and so have code fences and lone tags."""
    for written in as_lines(clean_reply(reply)).split("\n"):
        text = "" if _FENCE_OR_TAG.match(written) else written
        match = LEADING_MARKS.match(text)
        lead = match[0] if match else ""
        yield Line(lead, text[len(lead) :].strip(), text.strip())


def is_heading(line: Line) -> bool:
    """Return whether a line is a heading: marked as one, all in bold, or a few words that end with a colon."""
    return bool(_HEADING.match(line.written)) or (line.text[:1].isupper() and bool(_LABEL.match(line.text)))


def says_none(record: Record) -> bool:
    """Return whether a record only says that there is nothing to report."""
    if _NONE_REMARK.match(record.line) or _NONE_WITH_REASON.match(record.line):
        return True
    return record.tag is not None and bool(_NONE_REMARK.match(record.text))


def has_lines(reply: str) -> bool:
    """Return whether a reply has a tagged line, a JSON object, or says that there is nothing to report."""
    if any(record.tag is not None or says_none(record) for record in iter_records(reply)):
        return True
    return bool(lines_of_objects(reply))


def _make_records(lead: str, text: str) -> Iterator[Record]:
    """Yield the record of a line, or several where it has several tags."""
    for line in split_tags(" ".join(text.split())):
        yield _make_record(lead, line)


def _make_record(lead: str, line: str) -> Record:
    end = next((index for index, char in enumerate(line) if char in _CLOSINGS), -1)
    match = _TAG.fullmatch(halfwidth(line[: end + 1]))
    if match is None:
        return Record(line, None, clean_line(_strip_closing_marks(lead, line), MAX_RECORD), lead)
    tag, text = usual_tag(" ".join(match[1].split()), _strip_closing_marks(lead, line[end + 1 :]))
    return Record(line, tag, clean_line(text, MAX_RECORD), lead)


def _strip_closing_marks(lead: str, text: str) -> str:
    """Remove bold, italics and code marks at the end of a text if the lead holds their opening marks."""
    marks = "".join(mark for mark in "*_~`" if mark in lead)
    if not marks:
        return text
    text = text.lstrip(marks)
    kept = text.rstrip(marks)
    end = text[len(kept) :]
    return kept if end and kept.count(end[-1]) % 2 == 0 else text


def normalize_word(tag: str) -> str:
    """Return a tag, or a part of one, in lower case and without marks."""
    return " ".join(tag.strip(" *_`~#\"'").lower().split())


def parse_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list such as "1, #4 and 6-8", each once, in order."""
    numbers: list[int] = []
    for first, last in _NUMBERS.findall(text):
        end = int(last or first)
        numbers += range(int(first), end + 1) if 0 <= end - int(first) <= MAX_RANGE else (int(first), end)
    return tuple(dict.fromkeys(numbers))
