"""Detect lines that repeat other lines."""

import re

_WORD = re.compile(r"\w+")
COVERED = 0.7  # share of its words that makes a line a repetition


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def is_covered(line: str, other: str) -> bool:
    """Return True if most words of ``line`` also occur in ``other``."""
    words = words_of(line)
    return bool(words) and len(words & words_of(other)) >= COVERED * len(words)
