"""Read ``wordnet.txt``: relations of common words, taken from WordNet 3.1 (its licence is in the same folder).

Each line is a relation and its words, separated by spaces: words that share one of their three main senses or are
derived from each other (``alike``), antonyms (``opposite``), and the hyponyms of a noun (``class``).
"""

from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "wordnet.txt"


@cache
def entries() -> list[list[str]]:
    return [line.split() for line in FILE.read_text(encoding="utf-8").splitlines()]


@cache
def vocabulary() -> frozenset[str]:
    return frozenset(word for _, *words in entries() for word in words)
