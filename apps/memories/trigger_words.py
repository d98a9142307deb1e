"""Trigger words of memories: words that recall a memory when a message has one. Without database access."""

import re
import unicodedata
from collections.abc import Iterable

from apps.english.words import STOP_WORDS
from apps.text.words import UNSPACED

LENGTHS = range(3, 41)  # of a word, in characters
MIN_LETTERS = 4  # minimum length of a word that is taken from a memory's text
UNSPACED_LENGTHS = range(2, 7)  # of a word in a script without spaces between words
MAX_OWN_WORDS, MAX_WORDS = 6, 12  # words from a memory's text, and together with those that a run adds

MAX_UNSPACED = 4_000  # characters at the end of a message in which words without spaces are looked for
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def trigger_words(text: str) -> list[str]:
    """Return the words of a list in lower case; only those of 3 to 40 characters that contain a letter.

    In a script without spaces two characters are enough.

    Characters that can be written in several ways, such as an accented letter, are composed (NFKC), so that a word of a
    memory and one of a message are the same.
    """
    words = (match[0].lower() for match in _WORD.finditer(unicodedata.normalize("NFKC", text)))
    return [word for word in words if _has_length(word) and any(map(str.isalpha, word))]


def words_said(text: str) -> list[str]:
    """Return the trigger words in a message, and all that could be one within a run without spaces."""
    words = trigger_words(text)
    runs = UNSPACED.findall(unicodedata.normalize("NFKC", text[-MAX_UNSPACED:]))
    parts = (
        run[at : at + length] for run in runs for length in UNSPACED_LENGTHS for at in range(len(run) - length + 1)
    )
    return list(dict.fromkeys([*words, *parts]))


def longest_words(text: str) -> tuple[str, ...]:
    """Return the longest content words of a text. A run without spaces is one only if it is no longer than a word."""
    words = {word for word in trigger_words(text) if _is_telling(word)}
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:MAX_OWN_WORDS])


def _has_length(word: str) -> bool:
    return len(word) in LENGTHS or (len(word) == UNSPACED_LENGTHS.start and bool(UNSPACED.fullmatch(word)))


def _is_telling(word: str) -> bool:
    if UNSPACED.search(word):
        return len(word) in UNSPACED_LENGTHS
    return len(word) >= MIN_LETTERS and word not in STOP_WORDS


def after_rewriting(triggers: Iterable[str], former: str, text: str) -> tuple[str, ...]:
    """Return the trigger words of a memory whose text was ``former``: those of its text, and those that it had.

    Words that come from the former text alone are left out.
    """
    lost = set(longest_words(former)) - set(trigger_words(text))
    return tuple(dict.fromkeys([*longest_words(text), *(word for word in triggers if word not in lost)]))
