"""Name the language of messages in a prompt. Without database access."""

from collections.abc import Iterable

from apps.common.text_languages import ENGLISH_NAMES, MAX_CHARACTERS, language_of

UNNAMED = "the language of the messages"


def named_language(texts: Iterable[str]) -> str:
    """Return the English name of the language that the newest of the texts are mostly in, else words for it."""
    return ENGLISH_NAMES.get(language_of(" ".join(texts)[-MAX_CHARACTERS:], ""), UNNAMED)
