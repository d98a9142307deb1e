"""Split a message into lines and recognise separators, headings and status fields. Without database access."""

import re

from apps.builtin.scene_breaks.words import CALENDAR, PARTS_OF_DAY, SHIFTS, UNITS, any_of, words_of

MAX_READ_CHARS = 8_000  # characters read from a message
HEADING_WORDS = 12

_FENCED = re.compile(r"^\s*```.*?(?:^\s*```[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_ASIDE = re.compile(
    r"\(\([^()\n]*\)\)|[(\[{]\s*OOC\b[^()\[\]{}\n]*[)\]}]|^\W{0,3}OOC\b.*$|!\[[^\[\]\n]*\]\([^()\n]*\)",
    re.IGNORECASE | re.MULTILINE,
)
_SEPARATOR = re.compile(r"(?:[*\-_~=#+•·◇◆❖★☆✦⁂—–]\s*){3,}|⁂|<hr ?/?>", re.IGNORECASE)
_WRAPPED = re.compile(r"#{1,6}\s.+|\[.+\]|\(.+\)|\*\*[^*]+\*\*|__.+__|[-~=–—+◆❖★✦]{2,}\s*\w.*?[-~=–—+◆❖★✦]{2,}")
_DIVISION = re.compile(
    r"\W*(?:(?:chapter|part|act|scene|episode|book|day|night|log|entry)\s+(?:the\s+)?(?:\d+|[ivxlc]+\b|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\b|(?:int|ext)\b\.|(?:prologue|epilogue|interlude|time ?skip|new scene)\b)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\W*(?:location|place|setting|scene)\W{0,3}[:=]\W*([^|\n\])]+)", re.IGNORECASE)


def lines_of(message: str) -> list[str]:
    """Return the message's lines without code, remarks out of character and pictures."""
    text = _ASIDE.sub(" ", _FENCED.sub("\n", message.replace("\r\n", "\n")[:MAX_READ_CHARS]))
    return [line.strip() for line in text.split("\n") if line.strip()]


def is_separator(line: str) -> bool:
    return bool(_SEPARATOR.fullmatch(line))


def is_heading(line: str) -> bool:
    """Return whether a line is the title of a scene: "Chapter 3", "[Two days later]", "INT. KITCHEN"."""
    words = words_of(line)
    if not words or len(words) > HEADING_WORDS:
        return False
    if _DIVISION.match(line) and not line.rstrip("*_ ").endswith(('"', "”", "?")):
        return True
    return bool(_WRAPPED.fullmatch(line)) and any_of(words, PARTS_OF_DAY | UNITS | CALENDAR | SHIFTS)


def place_in(lines: list[str]) -> str:
    """Return the place that a line such as "Location: the docks" names, or an empty string."""
    found = next(filter(None, map(_PLACE.match, lines)), None)
    return found[1].strip("*_ .").casefold() if found else ""
