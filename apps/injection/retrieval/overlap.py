"""Detect lines that repeat the content of other lines."""

import re

_WORD = re.compile(r"\w+")
MIN_COVERED_SHARE = 0.7  # minimum share of a line's words that also occur in the other line


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def is_covered(line: str, other: str) -> bool:
    """Return True if most words of ``line`` also occur in ``other``."""
    words = words_of(line)
    return bool(words) and len(words & words_of(other)) >= MIN_COVERED_SHARE * len(words)
