"""Parse and format merges of memories: ``[merge:1,4] text``. Without database access."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.records import ParsedLines, Record, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line

MAX_MEMBERS = 50
_TAG = re.compile(
    r"(?P<word>merged?|merges|consolidated?)?[\s:=#(*_`]*(?P<numbers>\d(?:[\d\s,;#&+–-]|and)*)[)*_`\s]*", re.I
)


@dataclass(frozen=True)
class MergeLine:
    """Text that replaces the entries with these numbers."""

    numbers: tuple[int, ...]
    text: str


def parse_merges(reply: str) -> ParsedLines[MergeLine]:
    """Parse merges. Never raise. The caller checks that the numbers exist."""
    return parse_lines(reply, _merge)


def _merge(record: Record) -> MergeLine | None:
    match = _TAG.fullmatch(record.tag or "")
    text = clean_line(record.text)
    if match is None or not text:
        return None
    numbers = parse_numbers(match["numbers"])[:MAX_MEMBERS]
    return MergeLine(numbers, text) if match["word"] or len(numbers) > 1 else None


def format_merge(line: MergeLine) -> str:
    """Return ``line`` formatted so that ``parse_merges`` reads it back."""
    return f"[merge:{','.join(map(str, line.numbers))}] {clean_line(line.text)}"
