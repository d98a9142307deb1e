"""Trigger words of memories: words in a message that make a memory relevant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from apps.extraction.parsers.records import Line, iter_lines, unused_report
from apps.extraction.parsers.text_cleanup import halfwidth, is_none
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import Task
from apps.memories.trigger_words import trigger_words

MAX_SUGGESTED = 6  # of a memory
MAX_LINES = 1000
_NUMBERED = re.compile(
    r"[\s*•>_`~+-]*(?:memory\s+)?[\[(#]{0,2}(?P<number>\d{1,9})"
    r"(?:[*_`\])]{1,4}\s*[:.)–—-]?|\s*[:.)–—-])[*_`]{0,3}\s*(?P<words>\S.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ParsedTriggers:
    """Trigger words by the number of the memory that they recall, and the unused lines."""

    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)


def parse_triggers(reply: str, numbers: Sequence[int]) -> ParsedTriggers:
    """Parse trigger words for the memories with these numbers. Never raise.

    If there is only one memory, lines without its number are lists of words for it too.
    """
    words_by_number: dict[int, list[str]] = {}
    unused: list[str] = []
    for line in [line for line in iter_lines(reply) if line.text][:MAX_LINES]:
        number, words = _parse_line(line, numbers)
        if is_none(line.text):
            continue
        if number is None or not words:
            unused.append(line.written)
        else:
            words_by_number.setdefault(number, []).extend(words)
    kept = {number: tuple(dict.fromkeys(words))[:MAX_SUGGESTED] for number, words in words_by_number.items()}
    return ParsedTriggers(kept, unused_report(unused, 0, reply))


def _parse_line(line: Line, numbers: Sequence[int]) -> tuple[int | None, list[str]]:
    """Return the number of the memory that a line is for, or None if unknown, and the words."""
    match = _NUMBERED.fullmatch(halfwidth(line.written)) or _NUMBERED.fullmatch(halfwidth(line.text))
    inner = _NUMBERED.fullmatch(match["words"]) if match else None
    # The memory's number may stand behind the number of a list item: "1. 3: rope".
    for candidate in (inner, match):
        if candidate and int(candidate["number"]) in numbers:
            return int(candidate["number"]), trigger_words(candidate["words"])
    is_list = not _NUMBERED.fullmatch(halfwidth(line.text)) and not line.text.endswith(":")
    return (numbers[0], trigger_words(line.text)) if len(numbers) == 1 and is_list else (None, [])


def format_triggers(words: Mapping[int, Iterable[str]]) -> str:
    """Return the trigger words formatted so that ``parse_triggers`` reads them back."""
    return "\n".join(f"{number}: {', '.join(listed)}" for number, listed in words.items())


TRIGGERS = Task(
    "triggers", _("Words that recall a memory."), ("memories",), example={"memories": examples.KNOWN_MEMORIES}
)
