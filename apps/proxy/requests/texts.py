"""Words and white space of texts, as they are compared. Nothing here reads or writes the database."""

import re
import unicodedata


def mentions(text: str, name: str) -> int:
    """Return how often a name stands in a text, as words of its own."""
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)) if name in text else 0


def normalized(text: str) -> str:
    """Return the text as it is compared: clients trim texts and change their line breaks."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def unspaced(text: str) -> str:
    """Return the text without white space: clients join a reply and its continuation in their own ways."""
    return "".join(unicodedata.normalize("NFC", text).split())


def same_text(first: str, second: str) -> bool:
    """Return whether two texts differ in white space alone."""
    return normalized(first) == normalized(second)
