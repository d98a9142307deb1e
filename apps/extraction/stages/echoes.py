"""What a model repeats because a message told it to, and not because the story tells it. Pure."""

import re
from collections.abc import Iterable

from apps.extraction.instructions import echoed_lines, is_instruction, normalized, without_instructions
from apps.memories.wording import content_words

SAME = 0.6  # share of a line's words that a dictated text has, from which the line repeats it
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")


class Echoes:
    """``text in Echoes(messages)``: whether it says what one of them dictates, and no more than that.

    What the story tells as well, in a sentence of its own, is no echo.
    """

    def __init__(self, messages: Iterable[str]) -> None:
        messages = list(messages)
        self._lines = echoed_lines(messages)
        self._dictated = [words for line in self._lines if (words := content_words(line))]
        self._told = [words for message in messages for words in _told_by(message)] if self._dictated else []

    def __contains__(self, text: str) -> bool:
        if normalized(text) in self._lines:
            return True
        words = content_words(text)
        if not words or not self._dictated:
            return False
        dictated = max(len(words & line) / len(words) for line in self._dictated)
        told = max((len(words & line) / len(words) for line in self._told), default=0.0)
        return dictated >= SAME and told < dictated


def _told_by(message: str) -> Iterable[frozenset[str]]:
    """The words of each sentence of a message that is addressed to nobody outside the story."""
    sentences = _SENTENCE_END.split(without_instructions(message))
    return [content_words(sentence) for sentence in sentences if not is_instruction(sentence)]
