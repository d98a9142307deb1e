"""Messages as a model is shown them: between marks, numbered, and unable to pass for anything else. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

OPENING = "=== TRANSCRIPT BEGINS ==="
CLOSING = "=== TRANSCRIPT ENDS ==="
MAX_TURN = 6000  # characters of a message
MAX_NAME = 80
CUT = " (… cut …) "
_INDENT = "    "
_TAGS = (
    "fact|relationship|preference|event|scene|revelation|development|detail|merge|summary|analysis|know|suspect|"
    "believe|unaware|hiding|hide|retire|arc|resolved|state|contradiction|"
    "character[ _-]state|world[ _-]state|relationships?[ _-]matrix|inst|sys"
)
_SECTIONS = r"/?(?:character_state|world_state|relationship_matrix|analysis|summary|think|thinking|reasoning|s>|<SYS)"
_BRACKETS = r"\[\]［］【】〔〕"
# A tag of ours in any brackets that our parsers take, whatever else stands in it.
_TAG = re.compile(
    rf"[\[［【〔](?=[^{_BRACKETS}\n]*?(?<![^\W_])(?:{_TAGS})s?(?![^\W_]))([^{_BRACKETS}\n]*)[\]］】〕]?", re.IGNORECASE
)
_ANGLE = re.compile(rf"<(?=\s*{_SECTIONS}|\|)", re.IGNORECASE)
_RULE = re.compile(r"={3,}")
_NUMBERED = re.compile(r"^(\W*)#(?=\s*\d)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f\u200b\u2060\ufeff]")


def transcript(turns: Iterable[Mapping[str, Any]], *, longest: int = MAX_TURN) -> str:
    """The turns between the marks, each as ``#12 Mira: text`` with its further lines indented.

    A turn of more than ``longest`` characters is cut in its middle.
    """
    return "\n".join([OPENING, *(_turn(turn, longest) for turn in turns), CLOSING])


def _turn(turn: Mapping[str, Any], longest: int) -> str:
    lines = [_NUMBERED.sub(r"\1＃", line) for line in neutral(shortened(turn["text"], longest)).splitlines()]
    said = f"\n{_INDENT}".join(line.rstrip() for line in lines).strip()
    return f"#{turn['number']} {_name(turn['speaker'])}: {said}".rstrip()


def _name(speaker: str) -> str:
    return one_line(speaker.replace(":", " "))[:MAX_NAME].strip() or "Somebody"


def neutral(text: str) -> str:
    """``text`` without anything that reads as a tag of ours, a mark of a transcript or a model's own control word."""
    return _RULE.sub("==", _ANGLE.sub("‹", _TAG.sub(r"⟦\1⟧", _CONTROL.sub("", text))))


def one_line(text: str) -> str:
    """``text`` made neutral, in one line."""
    return " ".join(neutral(text).split())


def shortened(text: str, longest: int) -> str:
    """``text`` with its middle left out where it has more than ``longest`` characters."""
    if len(text) <= longest:
        return text
    head = max(longest * 2 // 3, 1)
    return text[:head] + CUT + text[len(text) - max(longest - head, 1) :]
