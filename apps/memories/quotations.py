"""Texts that repeat what somebody said, as ``Mira: “I live in Paris.”``. Without database access.

The marks “ and ” delimit the words of a message: a quotation has no others, so that nothing in it can end it. What is
quoted is told to models as something that somebody said, in whatever language, never as a statement of Loci's own.
"""

import re

MAX_NAME = 60  # characters
MAX_QUOTED = 400  # characters of a message
ELLIPSIS = "…"
_QUOTATION = re.compile(r"([^:“”\n]{1,60}): “([^“”\n]*)”")
# Marks that end a quotation, or that a reader takes for its end. The German „…“ ends with the mark that begins ours.
_MARKS = str.maketrans({"“": "‘", "”": "’", "„": "‚", "‟": "‘"})
_NOT_IN_NAMES = re.compile(r"[:：“”„\"\s]+")


def quotation(speaker: str, text: str) -> str:
    """Return what ``speaker`` said on one line, between marks that ``text`` can't close."""
    name = " ".join(_NOT_IN_NAMES.sub(" ", speaker).split())[:MAX_NAME].strip() or "Somebody"
    return f"{name}: “{inside(text)}”"


def inside(text: str) -> str:
    """Return a text as it stands within a quotation."""
    return " ".join(text.translate(_MARKS).split())


def quoted_speaker(text: str) -> str:
    """Return who says all of a text, or an empty string if it is no quotation."""
    match = _QUOTATION.fullmatch(text.strip())
    return match[1] if match else ""
