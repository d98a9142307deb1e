"""``wordnet.txt``: word relations taken from WordNet 3.1 (its licence is in the same folder).

Of common words, those that share one of their three main senses or are derived from each other (``alike``), antonyms
(``opposite``), and the hyponyms of a few nouns (``class``): one group per line, separated by spaces.
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
