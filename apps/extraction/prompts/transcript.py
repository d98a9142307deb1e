"""Render messages for a prompt: numbered, between marks, imitations of tags neutralized. Without database access."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from apps.extraction.prompts.task import TASKS

OPENING = "=== TRANSCRIPT BEGINS ==="
CLOSING = "=== TRANSCRIPT ENDS ==="
MAX_TURN = 60_000  # characters of a message; longer ones are read in parts
MAX_PLAIN_TURN = 3000  # characters of a message that a small model is shown
MAX_NAME = 80
CUT = " (… cut …) "
INDENT = "    "
_TAGS = (
    "fact|relationship|preference|event|scene|revelation|development|detail|merge|summary|analysis|know|suspect|"
    "believe|unaware|hiding|hide|retire|arc|resolved|state|contradiction|"
    "character[ _-]state|world[ _-]state|relationships?[ _-]matrix|inst|sys"
)
_SECTIONS = r"/?(?:character_state|world_state|relationship_matrix|analysis|summary|think|thinking|reasoning|s>|<SYS)"
_BRACKETS = r"\[\]［］【】〔〕"
_ANGLE_BRACKET = re.compile(rf"<(?=\s*{_SECTIONS}|\|)", re.IGNORECASE)
_EQUALS_SIGNS = re.compile(r"={3,}")
_NUMBERED = re.compile(r"^(\W*)#(?=\s*\d)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f\u200b\u2060\ufeff]")


def transcript(turns: Iterable[Mapping[str, Any]], *, max_chars: int = MAX_TURN) -> str:
    """Return the turns between the marks, each as ``#12 Mira: text`` with continuation lines indented.

    The first turn of a day, if its date is known, follows a line with the date in brackets. Turns of more than
    ``max_chars`` characters are shortened in the middle.
    """
    return "\n".join([OPENING, *_lines(turns, max_chars), CLOSING])


def quoted_lines(turns: Iterable[Mapping[str, Any]]) -> str:
    """Return the turns of one speaker as a line each, in quotation marks: small models copy tags, marks and numbers.

    No message can imitate what stands around the lines, since each line begins and ends with a mark.
    """
    return "\n".join(f"“{neutral_line(shorten(turn['text'], MAX_PLAIN_TURN))}”" for turn in turns)


def _lines(turns: Iterable[Mapping[str, Any]], max_chars: int) -> Iterator[str]:
    day: dt.date | None = None
    for turn in turns:
        date: dt.date | None = turn.get("date")
        if date and date != day:
            day = date
            yield f"({day:%A}, {day.day} {day:%B %Y})"
        yield _turn(turn, max_chars)


def _turn(turn: Mapping[str, Any], max_chars: int) -> str:
    lines = [_NUMBERED.sub(r"\1＃", line) for line in neutralize(shorten(turn["text"], max_chars)).splitlines()]
    text = f"\n{INDENT}".join(line.rstrip() for line in lines).strip()
    return f"#{turn['number']} {_name(turn['speaker'])}: {text}".rstrip()


def _name(speaker: str) -> str:
    return neutral_line(speaker.replace(":", " "))[:MAX_NAME].strip() or "Somebody"


def neutralize(text: str) -> str:
    """Neutralize everything in a text that imitates a tag, a transcript mark or a control token of a model."""
    tag = _tag(tuple(task.words[0] for task in TASKS.values() if task.words))
    return _EQUALS_SIGNS.sub("==", _ANGLE_BRACKET.sub("‹", tag.sub(r"⟦\1⟧", _CONTROL.sub("", text))))


@lru_cache(maxsize=4)
def _tag(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the tags that tasks ask for, in any of the brackets that the reply parsers accept."""
    tags = "|".join([_TAGS, *map(re.escape, words)])
    text = rf"[^{_BRACKETS}\n]*"
    return re.compile(rf"[\[［【〔](?={text}?(?<![^\W_])(?:{tags})s?(?![^\W_]))({text})[\]］】〕]?", re.IGNORECASE)


def neutral_line(text: str) -> str:
    """Neutralize a text and join its lines."""
    return " ".join(neutralize(text).split())


def shorten(text: str, max_chars: int) -> str:
    """Cut the middle of a text of more than ``max_chars`` characters."""
    if len(text) <= max_chars:
        return text
    head = max(max_chars * 2 // 3, 1)
    return text[:head] + CUT + text[len(text) - max(max_chars - head, 1) :]
