"""Words and white space of texts, as they are compared. Nothing here reads or writes the database."""

import re
import unicodedata
from collections.abc import Iterable

GAP = "\n\n"  # by which SillyTavern joins texts


def mentions(text: str, name: str) -> int:
    """Return how often a name stands in a text, as words of its own."""
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)) if name in text else 0


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a text in which each name, as words of its own, is the macro of a character's name."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "{{char}}", text)
    return text


def normalized(text: str) -> str:
    """Return the text as it is compared: clients trim texts and change their line breaks."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def unspaced(text: str) -> str:
    """Return the text without white space: clients join a reply and its continuation in their own ways."""
    return "".join(unicodedata.normalize("NFC", text).split())


def same_text(first: str, second: str) -> bool:
    """Return whether two texts differ in white space alone."""
    return normalized(first) == normalized(second)
