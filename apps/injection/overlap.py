"""Tells whether one line says anything that another doesn't."""

import re

_WORD = re.compile(r"\w+")
COVERED = 0.7  # share of its words that makes a line a repetition


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def is_covered(line: str, other: str) -> bool:
    """Whether most words of ``line`` stand in ``other`` already."""
    words = words_of(line)
    return bool(words) and len(words & words_of(other)) >= COVERED * len(words)
