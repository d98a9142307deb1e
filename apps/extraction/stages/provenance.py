"""From which turn a line came, where it doesn't say so itself. Pure."""

from collections.abc import Mapping, Sequence

from apps.memories.wording import content_words


def attribute(text: str, turns: Mapping[int, str]) -> int | None:
    """The number of the turn that shares most words with ``text``, the latest of equals; None without turns."""
    words = content_words(text)
    scores = {number: len(words & content_words(said)) for number, said in turns.items()}
    return max(scores, key=lambda number: (scores[number], number), default=None)


def offered(numbers: Sequence[int], turns: Mapping[int, str]) -> bool:
    """Whether all that a line cites was shown to the model."""
    return set(numbers) <= turns.keys()
