"""What the server takes of an instance: checked when it is written, since one refused entry would stop each push."""

import re

MAX_LENGTH = 200_000  # characters of an identity file or a journal entry
MAX_MEMORY_LENGTH = 4000  # characters of a lasting memory
CATEGORIES = ("self", "user", "relationship", "custom")
_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def check_text(text: str, tier: str) -> None:
    """Raise ValueError if a memory of this tier can't have this text."""
    if not text.strip():
        raise ValueError("The text must contain more than white space.")
    if tier == "long_term" and len(text) > MAX_MEMORY_LENGTH:
        raise ValueError(f"The text has more than {MAX_MEMORY_LENGTH:,} characters.")
    check_content(text)


def check_content(content: str) -> None:
    """Raise ValueError if an identity file can't have this content."""
    if len(content) > MAX_LENGTH:
        raise ValueError(f"The text has more than {MAX_LENGTH:,} characters.")
    if _UNSTORABLE.search(content):
        raise ValueError("The text contains U+0000 or half of a surrogate pair.")


def check_filename(category: str, filename: str) -> None:
    """Raise ValueError if there can be no identity file of this name."""
    if category not in CATEGORIES:
        raise ValueError(f"The category must be one of {', '.join(CATEGORIES)}.")
    if not _FILENAME.fullmatch(filename):
        raise ValueError("The filename must be 1 to 100 letters, digits, dots, hyphens or _, a letter or digit first.")
