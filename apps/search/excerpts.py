"""Excerpts of long texts. Without database access."""

from apps.text.sentences import sentences_in
from apps.text.words import UNSPACED, words_of

MAX_EXCERPT_LENGTH = 2000  # characters; shorter texts are shown whole
MAX_WORD_LENGTH = 50  # characters; where no space is nearer, a script without spaces is cut anywhere

_STEM_LENGTH = 5  # letters that forms of one word usually share


def best_sentence(text: str, query: str) -> str:
    """Return the sentence of ``text`` that shares most words with ``query``; the first one if several do."""
    sentences = list(sentences_in(text[: 10 * MAX_EXCERPT_LENGTH]))
    query_stems = _stems(query)
    return max(sentences, key=lambda sentence: len(_stems(sentence) & query_stems), default=text.strip())


def excerpt(text: str, sentence: str) -> str:
    """Return a short ``text`` whole, else MAX_EXCERPT_LENGTH characters around ``sentence``, cut between words."""
    if len(text) < MAX_EXCERPT_LENGTH:
        return text
    middle = text.find(sentence) + len(sentence) // 2
    start = min(max(0, middle - MAX_EXCERPT_LENGTH // 2), len(text) - MAX_EXCERPT_LENGTH)
    end = start + MAX_EXCERPT_LENGTH
    before, after = ("… " if start else ""), ("" if end == len(text) else " …")
    if start:
        start = text.find(" ", start, start + MAX_WORD_LENGTH) + 1 or start
    if end < len(text):
        space = text.rfind(" ", end - MAX_WORD_LENGTH, end)
        end = end if space == -1 else space
    return f"{before}{text[start:end]}{after}"


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words, and the pairs of characters of scripts without spaces."""
    return {word[:_STEM_LENGTH] for word in words_of(text) if len(word) > 2 or UNSPACED.match(word)}
