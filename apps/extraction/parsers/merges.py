"""The lines in which memories are merged: ``[merge:1,4] text``. Pure."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.plain import sentence
from apps.extraction.parsers.records import Reading, Record, numbers_in, read

MAX_MEMBERS = 50
_TAG = re.compile(
    r"(?P<word>merged?|merges|consolidated?)?[\s:=#(*_`]*(?P<numbers>\d(?:[\d\s,;#&+–-]|and)*)[)*_`\s]*", re.I
)


@dataclass(frozen=True)
class MergeLine:
    """The one text that the entries of these numbers become."""

    numbers: tuple[int, ...]
    text: str


def parse_merges(reply: str) -> Reading[MergeLine]:
    """Read merges. Never raises. Whether the numbers were offered is for the caller to check."""
    return read(reply, _merge)


def _merge(record: Record) -> MergeLine | None:
    match = _TAG.fullmatch(record.tag or "")
    text = sentence(record.text)
    if match is None or not text:
        return None
    numbers = numbers_in(match["numbers"])[:MAX_MEMBERS]
    return MergeLine(numbers, text) if match["word"] or len(numbers) > 1 else None


def print_merge(line: MergeLine) -> str:
    """The line that reads as ``line`` again."""
    return f"[merge:{','.join(map(str, line.numbers))}] {sentence(line.text)}"
