"""Words that bring a memory up: ``3: rope, lantern``. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apps.extraction.parsers.plain import narrow
from apps.extraction.parsers.records import Line, lines_of, reported

MAX_WORDS = 6
LENGTHS = range(3, 41)
MAX_LINES = 1000
_NUMBERED = re.compile(
    r"[\s*•>_`~+-]*(?:memory\s+)?[\[(#]{0,2}(?P<number>\d{1,9})"
    r"(?:[*_`\])]{1,4}\s*[:.)–—-]?|\s*[:.)–—-])[*_`]{0,3}\s*(?P<words>\S.*)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NONE = re.compile(r"[\W_]*none[\W_]*", re.IGNORECASE)


@dataclass(frozen=True)
class TriggersParsed:
    """Words by the number of the memory that they bring up."""

    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)


def parse_triggers(reply: str, numbers: Sequence[int]) -> TriggersParsed:
    """Read words for the memories of these numbers. Never raises.

    Where one memory was asked about, lines without its number are a plain list of words for it.
    """
    found: dict[int, list[str]] = {}
    unused: list[str] = []
    for line in [line for line in lines_of(reply) if line.text][:MAX_LINES]:
        number, words = _numbered(line, numbers)
        if _NONE.fullmatch(line.text):
            continue
        if number is None or not words:
            unused.append(line.written)
        else:
            found.setdefault(number, []).extend(words)
    kept = {number: tuple(dict.fromkeys(words))[:MAX_WORDS] for number, words in found.items()}
    return TriggersParsed(kept, reported(unused, 0, reply))


def _numbered(line: Line, numbers: Sequence[int]) -> tuple[int | None, list[str]]:
    """The number of the memory that a line is about, if it can be told, and the words."""
    match = _NUMBERED.fullmatch(narrow(line.written)) or _NUMBERED.fullmatch(narrow(line.text))
    inner = _NUMBERED.fullmatch(match["words"]) if match else None
    for found in (inner, match):
        if found and int(found["number"]) in numbers:
            return int(found["number"]), words_in(found["words"])
    is_list = not _NUMBERED.fullmatch(narrow(line.text)) and not line.text.endswith(":")
    return (numbers[0], words_in(line.text)) if len(numbers) == 1 and is_list else (None, [])


def words_in(text: str) -> list[str]:
    """The words of a list in lower case that are neither too short nor too long and hold a letter."""
    words = (match[0].lower() for match in _WORD.finditer(text))
    return [word for word in words if len(word) in LENGTHS and any(map(str.isalpha, word))]


def print_triggers(words: Mapping[int, Iterable[str]]) -> str:
    """The lines that read as these words again."""
    return "\n".join(f"{number}: {', '.join(found)}" for number, found in words.items())
