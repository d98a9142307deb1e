"""Join a text and its continuation. Without database access."""

import re

SENTENCE_END = re.compile(r"[.!?…][\"”»*]*$")
SENTENCE_BEGINNING = re.compile(r"[\"“«*]*[^\W\d]")


def continued(text: str, continuation: str) -> str:
    """Return a text with its continuation, which models begin without a space also where a sentence follows another."""
    return f"{text}{joint(text, continuation)}{continuation}"


def joint(text: str, continuation: str) -> str:
    """Return what stands between a text and its continuation: a space or nothing."""
    is_next_sentence = SENTENCE_END.search(text) and SENTENCE_BEGINNING.match(continuation)
    return " " if is_next_sentence else ""
