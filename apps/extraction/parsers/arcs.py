"""The lines in which story arcs come: ``[arc] text`` and ``[resolved] text``. Pure."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.plain import sentence
from apps.extraction.parsers.records import Reading, Record, read

ARC, RESOLVED = "arc", "resolved"
_WORDS = {"arc", "arcs", "open", "opened", "new", "story", "thread", "resolved", "closed"}
_PART = re.compile(r"[^\W\d_]+|\d{1,9}")


@dataclass(frozen=True)
class ArcLine:
    """An open thread, or how one came out. ``number`` is that of the arc which it resolves, where the line names it."""

    kind: str
    text: str
    number: int | None = None


def parse_arcs(reply: str) -> Reading[ArcLine]:
    """Read arcs and resolutions. Never raises."""
    return read(reply, _arc)


def _arc(record: Record) -> ArcLine | None:
    parts = _PART.findall((record.tag or "").lower())
    words = {part for part in parts if not part.isdecimal()}
    text = sentence(record.text)
    if not text or not words <= _WORDS or not words & {ARC, "arcs", RESOLVED}:
        return None
    if not words & {RESOLVED, "closed"}:
        return ArcLine(ARC, text)
    return ArcLine(RESOLVED, text, next((int(part) for part in parts if part.isdecimal()), None))


def print_arc(line: ArcLine) -> str:
    """The line that reads as ``line`` again."""
    number = f":{line.number}" if line.kind == RESOLVED and line.number is not None else ""
    return f"[{line.kind}{number}] {sentence(line.text)}"
