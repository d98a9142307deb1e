"""Parse and format relationships of people: ``Subject -> Target: warm(medium), !wary``. Without database access."""

import re

from apps.extraction.parsers.records import ParsedLines, Record, parse_lines
from apps.extraction.parsers.text_cleanup import MAX_NAME, clean_name, halfwidth, one_line
from apps.memories.candidates import MAGNITUDES, MEDIUM, Descriptor, RelationshipLine

MAX_WORD = 60  # characters
MAX_WORDS = 30  # maximum number of descriptors in one line
MAX_LINE = 2000  # characters
_ARROW = re.compile(r"\s*(?:[-–—=]{1,3}>|[→⟶➔➜⇒➝])\s*")
_PIECE = re.compile(r"(?:[^,;|()]|\([^()]*\)?|\))+")
_IN_PARENTHESES = re.compile(r"(?P<word>[^()]*)\((?P<magnitude>[^()]*)\)?[^()]*")
_AFTER_SEPARATOR = re.compile(r"(?P<word>[^:=/]*[^:=/\s])\s*[:=/]\s*(?P<magnitude>low|medium|high)", re.IGNORECASE)
_REMOVED = re.compile(r"(?:!|no longer\s)\s*", re.IGNORECASE)
_HEDGES = {
    "low": re.compile(r"(?:slightly|somewhat|a bit|a little|mildly)\s+(?=\S)", re.IGNORECASE),
    "high": re.compile(r"(?:very|extremely|deeply|intensely|profoundly)\s+(?=\S)", re.IGNORECASE),
}
_NOTHING = frozenset({"", "none", "unchanged", "no change", "no changes", "n/a", "unknown"})
_EDGES = " \t*_`~\"“”'‘’[].!+-–—("


def parse_relationships(reply: str) -> ParsedLines[RelationshipLine]:
    """Parse changes of relationships. Never raise. The caller checks the names."""
    return parse_lines(
        reply, _relationship, starts=lambda line: bool(_ARROW.search(halfwidth(line.text[: 2 * MAX_NAME]))), bullet=", "
    )


def _relationship(record: Record) -> RelationshipLine | None:
    subject_text, arrow, rest = _split_arrow(halfwidth(record.line[:MAX_LINE]))
    target_text, _, words = rest.partition(":")
    if "<" in subject_text or not arrow or _ARROW.search(target_text):
        return None
    subject, target = clean_name(subject_text), clean_name(target_text)
    added, removed = _descriptors(words)
    if not subject or not target or not (added or removed):
        return None
    return RelationshipLine(subject, target, added, removed)


def _split_arrow(text: str) -> tuple[str, str, str]:
    match = _ARROW.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _descriptors(words: str) -> tuple[tuple[Descriptor, ...], tuple[str, ...]]:
    """Return the added descriptors, each with its highest magnitude, and the removed ones."""
    added: dict[str, str] = {}
    removed: dict[str, None] = {}
    for piece in map(str.strip, _PIECE.findall(words)[:MAX_WORDS]):
        removal = _REMOVED.match(piece.lstrip(" *_`[+"))
        item = _descriptor(piece.lstrip(" *_`[+")[removal.end() :] if removal else piece)
        if item.word in _NOTHING or not any(map(str.isalnum, item.word)):
            continue
        if removal:
            removed[item.word] = None
        else:
            added[item.word] = max(added.get(item.word, MAGNITUDES[0]), item.magnitude, key=MAGNITUDES.index)
    return tuple(Descriptor(word, magnitude) for word, magnitude in added.items()), tuple(removed)


def _descriptor(piece: str) -> Descriptor:
    match = _IN_PARENTHESES.fullmatch(piece) or _AFTER_SEPARATOR.fullmatch(piece.strip(_EDGES))
    word = _word(match["word"] if match else piece)
    stated = match["magnitude"].strip(_EDGES).lower() if match else ""
    hedged = MEDIUM
    for magnitude, hedge in _HEDGES.items():
        while prefix := hedge.match(word):
            word, hedged = word[prefix.end() :], magnitude
    return Descriptor(word, stated if stated in MAGNITUDES else hedged)


def _word(text: str) -> str:
    """Return a descriptor in lower case, without the marks around it."""
    return one_line(re.sub("[(),;|]", " ", text.lower()).strip(_EDGES), MAX_WORD).strip(_EDGES)


def format_relationship(line: RelationshipLine) -> str:
    """Return ``line`` formatted so that ``parse_relationships`` reads it back."""
    words = [f"{item.word}({item.magnitude})" for item in line.added] + [f"!{word}" for word in line.removed]
    return f"{line.subject} -> {line.target}: {', '.join(words)}"
