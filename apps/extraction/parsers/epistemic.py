"""Parse and format lines about who knows what. Without database access.

``[knows] Name | fact``, ``[hiding] Name from Target | fact``, ``[retire] 1, 3``
"""

import re
from dataclasses import dataclass

from apps.extraction.parsers.records import ParsedLines, Record, normalize_word, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line, clean_name, halfwidth
from apps.memories.candidates import KnowledgeLine

HIDING, RETIRE = "hiding", "retire"
KINDS = ("knows", "suspects", "believes", "unaware", HIDING)
_KIND_OF = {kind: kind for kind in KINDS} | {
    "know": "knows",
    "suspect": "suspects",
    "believe": "believes",
    "unaware of": "unaware",
    "hides": HIDING,
    "hide": HIDING,
}
_RETIRE = re.compile(r"retire[sd]?\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_NUMBER_LIST = re.compile(r"(?:[#\s,;:&+.\d–-]|and\b|nos?\b)*", re.IGNORECASE)
# A name of a few words, then a colon or a dash. A hyphen within a name has no spaces around it.
_NAME_AND_FACT = re.compile(r"(?P<name>[^\s|:：–—][^|:：–—\n]{0,80}?)\s*(?:[:：–—]|\s-\s)\s*(?P<fact>.+)", re.DOTALL)
# Between who hides something and from whom: also in languages whose words begin a tag, where no name has that word.
_FROM = re.compile(r"\s(?:from|vor|от)\s|\s*(?:->|→|=>)\s*", re.IGNORECASE)
MAX_NAME_WORDS = 8


@dataclass(frozen=True)
class ParsedKnowledge(ParsedLines[KnowledgeLine]):
    """Parsed entries, with the numbers of the known entries to retire."""

    retired: tuple[int, ...] = ()


def parse_knowledge(reply: str) -> ParsedKnowledge:
    """Parse lines about who knows what. Never raise. The caller checks the names and numbers."""
    parsed = parse_lines(reply, _knowledge)
    lines = [item for item in parsed.items if isinstance(item, KnowledgeLine)]
    numbers = [number for item in parsed.items if isinstance(item, tuple) for number in item]
    return ParsedKnowledge(lines, parsed.unused, tuple(dict.fromkeys(numbers)))


def _knowledge(record: Record) -> KnowledgeLine | tuple[int, ...] | None:
    """Return an entry, or the numbers to retire, or None for an unusable record."""
    retire = _RETIRE.fullmatch((record.tag or "").strip(" *_`"))
    if retire:
        listed = _NUMBER_LIST.match(f"{retire['rest']} {record.text}")
        return (parse_numbers(listed[0]) if listed else ()) or None
    kind = _KIND_OF.get(normalize_word(record.tag or ""))
    if kind is None:
        return None
    names, fact = _split_fact(record.text)
    subject, target = _split_target(names) if kind == HIDING else (names, "")
    line = KnowledgeLine(kind, clean_name(subject), clean_name(target), clean_line(fact))
    return line if line.subject and line.text else None


def _split_fact(text: str) -> tuple[str, str]:
    """Split a text into name and fact at a bar, or at a colon or dash after a name of a few words."""
    bar_index = next((index for index, char in enumerate(text) if halfwidth(char) == "|"), -1)
    if bar_index >= 0:
        return text[:bar_index], text[bar_index + 1 :]
    match = _NAME_AND_FACT.fullmatch(text)
    return (match["name"], match["fact"]) if match and len(match["name"].split()) <= MAX_NAME_WORDS else ("", text)


def _split_target(names: str) -> tuple[str, str]:
    parts = _FROM.split(names, maxsplit=1)
    return (parts[0], parts[1]) if len(parts) == 2 else (names, "")


def format_knowledge(line: KnowledgeLine) -> str:
    """Return ``line`` formatted so that ``parse_knowledge`` reads it back."""
    target = f" from {clean_name(line.target)}" if line.kind == HIDING and line.target else ""
    return f"[{line.kind}] {clean_name(line.subject)}{target} | {clean_line(line.text)}"


def format_retired(numbers: tuple[int, ...]) -> str:
    """Return the line that retires the entries with these numbers."""
    return f"[{RETIRE}] {', '.join(map(str, numbers))}"
