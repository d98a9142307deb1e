"""Parse and format story arcs: ``[arc] text`` and ``[resolved] text``. Without database access."""

import re
from dataclasses import dataclass

from apps.extraction.parsers.records import ParsedLines, Record, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line

ARC, RESOLVED = "arc", "resolved"
_TAG_WORDS = {"arc", "arcs", "open", "opened", "new", "story", "thread", "resolved", "closed"}
_PART = re.compile(r"[^\W\d_]+|\d{1,9}")


@dataclass(frozen=True)
class ArcLine:
    """Open arc, or the resolution of one; ``number`` identifies the resolved arc, if given."""

    kind: str
    text: str
    number: int | None = None


def parse_arcs(reply: str) -> ParsedLines[ArcLine]:
    """Parse arcs and resolutions. Never raise."""
    return parse_lines(reply, _arc)


def _arc(record: Record) -> ArcLine | None:
    parts = _PART.findall((record.tag or "").lower())
    words = {part for part in parts if not part.isdecimal()}
    text = clean_line(record.text)
    if not text or not words <= _TAG_WORDS or not words & {ARC, "arcs", RESOLVED}:
        return None
    if not words & {RESOLVED, "closed"}:
        return ArcLine(ARC, text)
    return ArcLine(RESOLVED, text, next((int(part) for part in parts if part.isdecimal()), None))


def format_arc(line: ArcLine) -> str:
    """Return ``line`` formatted so that ``parse_arcs`` reads it back."""
    number = f":{line.number}" if line.kind == RESOLVED and line.number is not None else ""
    return f"[{line.kind}{number}] {clean_line(line.text)}"
