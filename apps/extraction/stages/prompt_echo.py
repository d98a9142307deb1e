"""Recognise lines that a model repeats because a message dictates them: prompt injection. Without database access."""

import re
from collections.abc import Iterable

from apps.english.words import content_words
from apps.extraction.prompts.instructions import dictated_texts, is_instruction, normalize_text, without_instructions

MIN_REPEATED_SHARE = 0.6  # minimum share of a line's words that occur in the dictated text
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")


class PromptEchoes:
    """Container of dictated texts: ``text in PromptEchoes(messages)`` is true if the text only repeats one.

    A text is not contained if a sentence of the story says the same.
    """

    def __init__(self, messages: Iterable[str]) -> None:
        messages = list(messages)
        self._lines = dictated_texts(messages)
        self._dictated = [words for line in self._lines if (words := content_words(line))]
        self._story = [words for message in messages for words in _story_words(message)] if self._dictated else []

    def __contains__(self, text: str) -> bool:
        if normalize_text(text) in self._lines:
            return True
        words = content_words(text)
        if not words or not self._dictated:
            return False
        dictated = max(len(words & line) / len(words) for line in self._dictated)
        story = max((len(words & line) / len(words) for line in self._story), default=0.0)
        return dictated >= MIN_REPEATED_SHARE and story < dictated


def _story_words(message: str) -> Iterable[frozenset[str]]:
    """Return the content words of each sentence of a message that is not an instruction to the model."""
    sentences = _SENTENCE_END.split(without_instructions(message))
    return [content_words(sentence) for sentence in sentences if not is_instruction(sentence)]
