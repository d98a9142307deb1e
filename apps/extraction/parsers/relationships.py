"""The lines that say how people stand to each other: ``Subject -> Target: warm(medium), !wary``. Pure."""

import re

from apps.extraction.parsers.plain import MAX_NAME, name_in, narrow, one_line
from apps.extraction.parsers.records import Line, Reading, Record, read
from apps.memories.candidates import MAGNITUDES, MEDIUM, Descriptor, RelationshipLine

MAX_WORD = 60  # characters
MAX_WORDS = 30  # of one line
MAX_LINE = 2000  # characters
_ARROW = re.compile(r"\s*(?:[-–—=]{1,3}>|[→⟶➔➜⇒➝])\s*")
_PIECE = re.compile(r"(?:[^,;|()]|\([^()]*\)?|\))+")
_WEIGHED = re.compile(r"(?P<word>[^()]*)\((?P<magnitude>[^()]*)\)?[^()]*")
_VALUED = re.compile(r"(?P<word>[^:=/]*[^:=/\s])\s*[:=/]\s*(?P<magnitude>low|medium|high)", re.IGNORECASE)
_REMOVED = re.compile(r"(?:!|no longer\s)\s*", re.IGNORECASE)
_HEDGES = {
    "low": re.compile(r"(?:slightly|somewhat|a bit|a little|mildly)\s+(?=\S)", re.IGNORECASE),
    "high": re.compile(r"(?:very|extremely|deeply|intensely|profoundly)\s+(?=\S)", re.IGNORECASE),
}
_NOTHING = frozenset({"", "none", "unchanged", "no change", "no changes", "n/a", "unknown"})
_EDGES = " \t*_`~\"“”'‘’[].!+-–—("


def parse_relationships(reply: str) -> Reading[RelationshipLine]:
    """Read changes of relationships. Never raises. Names are for the caller to check."""
    return read(reply, _relationship, starts=_has_arrow, bullet=", ")


def _has_arrow(line: Line) -> bool:
    return bool(_ARROW.search(narrow(line.text[: 2 * MAX_NAME])))


def _relationship(record: Record) -> RelationshipLine | None:
    who, arrow, rest = _parted(narrow(record.line[:MAX_LINE]))
    whom, _, words = rest.partition(":")
    if "<" in who or not arrow or _ARROW.search(whom):
        return None
    subject, target = name_in(who), name_in(whom)
    added, removed = _descriptors(words)
    if not subject or not target or not (added or removed):
        return None
    return RelationshipLine(subject, target, added, removed)


def _parted(text: str) -> tuple[str, str, str]:
    match = _ARROW.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _descriptors(words: str) -> tuple[tuple[Descriptor, ...], tuple[str, ...]]:
    """The words that hold, a repeated one as strongly as it is said at all, and those that hold no longer."""
    added: dict[str, str] = {}
    removed: dict[str, None] = {}
    for piece in map(str.strip, _PIECE.findall(words)[:MAX_WORDS]):
        gone = _REMOVED.match(piece.lstrip(" *_`[+"))
        found = _descriptor(piece.lstrip(" *_`[+")[gone.end() :] if gone else piece)
        if found.word in _NOTHING or not any(map(str.isalnum, found.word)):
            continue
        if gone:
            removed[found.word] = None
        else:
            added[found.word] = max(added.get(found.word, MAGNITUDES[0]), found.magnitude, key=MAGNITUDES.index)
    return tuple(Descriptor(word, magnitude) for word, magnitude in added.items()), tuple(removed)


def _descriptor(piece: str) -> Descriptor:
    match = _WEIGHED.fullmatch(piece) or _VALUED.fullmatch(piece.strip(_EDGES))
    word = _word(match["word"] if match else piece)
    said = match["magnitude"].strip(_EDGES).lower() if match else ""
    hedged = MEDIUM
    for magnitude, hedge in _HEDGES.items():
        while prefix := hedge.match(word):
            word, hedged = word[prefix.end() :], magnitude
    return Descriptor(word, said if said in MAGNITUDES else hedged)


def _word(text: str) -> str:
    """A descriptor in lower case, without the marks around it."""
    return one_line(re.sub("[(),;|]", " ", text.lower()).strip(_EDGES), MAX_WORD).strip(_EDGES)


def print_relationship(line: RelationshipLine) -> str:
    """The line that reads as ``line`` again."""
    words = [f"{one.word}({one.magnitude})" for one in line.added] + [f"!{word}" for word in line.removed]
    return f"{line.subject} -> {line.target}: {', '.join(words)}"
