"""Trigger words of memories: words that recall a memory when a message has one. Without database access."""

import re
import unicodedata
from collections.abc import Iterable

from apps.english.words import STOP_WORDS

LENGTHS = range(3, 41)  # of a word, in characters
MIN_LETTERS = 4  # minimum length of a word that is taken from a memory's text
MAX_OWN_WORDS, MAX_WORDS = 6, 12  # words from a memory's text, and together with those that a run adds

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def trigger_words(text: str) -> list[str]:
    """Return the words of a list in lower case; only those of 3 to 40 characters that contain a letter.

    Characters that can be written in several ways, such as an accented letter, are composed (NFKC), so that a word of a
    memory and one of a message are the same.
    """
    words = (match[0].lower() for match in _WORD.finditer(unicodedata.normalize("NFKC", text)))
    return [word for word in words if len(word) in LENGTHS and any(map(str.isalpha, word))]


def longest_words(text: str) -> tuple[str, ...]:
    """Return the longest content words of a text."""
    words = {word for word in trigger_words(text) if len(word) >= MIN_LETTERS and word not in STOP_WORDS}
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:MAX_OWN_WORDS])


def after_rewriting(triggers: Iterable[str], former: str, text: str) -> tuple[str, ...]:
    """Return the trigger words of a memory whose text was ``former``: those of its text, and those that it had.

    Words that come from the former text alone are left out.
    """
    lost = set(longest_words(former)) - set(trigger_words(text))
    return tuple(dict.fromkeys([*longest_words(text), *(word for word in triggers if word not in lost)]))
