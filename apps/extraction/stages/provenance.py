"""Find the source turn of a line that names none. Without database access."""

from collections.abc import Mapping

from apps.english.words import content_words


def find_source_turn(text: str, turns: Mapping[int, str]) -> int | None:
    """Return the number of the turn that shares most words with ``text``, the latest of several; None without turns."""
    words = content_words(text)
    scores = {number: len(words & content_words(turn)) for number, turn in turns.items()}
    return max(scores, key=lambda number: (scores[number], number), default=None)
