"""How much two texts have in common. Nothing here reads or writes the database."""

from collections import Counter

COMPARED_CHARACTERS = 2_000  # of a text
Trigrams = Counter[str]


def trigrams(text: str) -> Trigrams:
    """Return how often each sequence of three characters stands in the beginning of a text, in any language."""
    padded = f"  {' '.join(text[:COMPARED_CHARACTERS].lower().split())} "
    return Counter(padded[at : at + 3] for at in range(len(padded) - 2))


def likeness(first: Trigrams, second: Trigrams) -> float:
    """Return the share of trigrams that two texts have in common, from 0 to 1 (the Sørensen-Dice coefficient)."""
    return 2 * (first & second).total() / max(first.total() + second.total(), 1)
