"""Whether a place in a text is a whole word, in any script."""

import unicodedata

# Scripts without spaces between words, or with endings on names, as Unicode names their characters.
UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "HANGUL")


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether no word goes on before ``start`` or after ``end``."""
    return not any(_joins(*text[at - 1 : at + 1]) for at in (start, end) if 0 < at < len(text))


def _joins(left: str, right: str) -> bool:
    """Return whether two characters may be of one word. Scripts without spaces tell nothing: there, none are."""
    if _is_unspaced(left) or _is_unspaced(right):
        return False
    return all(character == "_" or unicodedata.category(character)[0] in "LMN" for character in (left, right))


def _is_unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED_SCRIPTS)
