"""Detect lines that repeat the content of other lines."""

import re

_WORD = re.compile(r"\w+")
QUOTED_SHARE = 0.7  # share of a quoted message's words that a memory must have to stand for it


def words_of(text: str) -> set[str]:
    """Return the words of a line, without case."""
    return set(_WORD.findall(text.casefold()))


def is_covered(words: set[str], others: set[str], share: float = 1.0) -> bool:
    """Return True if at least a share of the words of a line also occur in another.

    Two memories that have most words in common may differ in the one that matters, so of a memory all have to.
    """
    return bool(words) and len(words & others) >= share * len(words)
