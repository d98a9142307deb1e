"""The lines that say who knows what: ``[knows] Name | fact``, ``[hiding] Name from Target | fact``, ``[retire] 1, 3``.

Pure.
"""

import re
from dataclasses import dataclass, field

from apps.extraction.parsers.plain import name_in, narrow, sentence
from apps.extraction.parsers.records import Record, numbers_in, read, word_of
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
# A name of a few words, then a colon or a dash. A hyphen within a name has no blanks around it.
_NAMED = re.compile(r"(?P<name>[^\s|:：–—][^|:：–—\n]{0,80}?)\s*(?:[:：–—]|\s-\s)\s*(?P<fact>.+)", re.DOTALL)
MAX_NAME_WORDS = 8


@dataclass(frozen=True)
class KnowledgeParsed:
    """``retired`` are the numbers of the known entries that hold no longer."""

    items: list[KnowledgeLine] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    retired: tuple[int, ...] = ()


def parse_knowledge(reply: str) -> KnowledgeParsed:
    """Read who knows what. Never raises. Names and numbers are for the caller to check."""
    reading = read(reply, _knowledge)
    lines = [item for item in reading.items if isinstance(item, KnowledgeLine)]
    numbers = [number for item in reading.items if isinstance(item, tuple) for number in item]
    return KnowledgeParsed(lines, reading.unused, tuple(dict.fromkeys(numbers)))


def _knowledge(record: Record) -> KnowledgeLine | tuple[int, ...] | None:
    """An entry, the numbers of a line that retires, or None."""
    retire = _RETIRE.fullmatch((record.tag or "").strip(" *_`"))
    if retire:
        listed = _NUMBER_LIST.match(f"{retire['rest']} {record.text}")
        return (numbers_in(listed[0]) if listed else ()) or None
    kind = _KIND_OF.get(word_of(record.tag or ""))
    if kind is None:
        return None
    who, fact = _split(record.text)
    subject, target = _hider(who) if kind == HIDING else (who, "")
    line = KnowledgeLine(kind, name_in(subject), name_in(target), sentence(fact))
    return line if line.subject and line.text else None


def _split(text: str) -> tuple[str, str]:
    """Who, and what: parted by a bar, or by a colon or dash after a name of a few words."""
    bar = next((place for place, char in enumerate(text) if narrow(char) == "|"), -1)
    if bar >= 0:
        return text[:bar], text[bar + 1 :]
    match = _NAMED.fullmatch(text)
    return (match["name"], match["fact"]) if match and len(match["name"].split()) <= MAX_NAME_WORDS else ("", text)


def _hider(who: str) -> tuple[str, str]:
    parts = re.split(r"\sfrom\s", who, maxsplit=1, flags=re.IGNORECASE)
    return (parts[0], parts[1]) if len(parts) == 2 else (who, "")


def print_knowledge(line: KnowledgeLine) -> str:
    """The line that reads as ``line`` again."""
    target = f" from {name_in(line.target)}" if line.kind == HIDING and line.target else ""
    return f"[{line.kind}] {name_in(line.subject)}{target} | {sentence(line.text)}"


def print_retired(numbers: tuple[int, ...]) -> str:
    """The line that retires the entries of these numbers."""
    return f"[{RETIRE}] {', '.join(map(str, numbers))}"
