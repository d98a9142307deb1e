"""Words of texts in any script, and what is equal though it is written in another way. Without database access.

Scripts without spaces between words, and Korean, whose words end in particles, are cut into overlapping pairs of
characters: what is searched for stands in a text if its pairs do. Text in other scripts is divided at spaces
and marks. A code, such as ``ADR-0003``, is its parts and what they are together.
"""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import regex

UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー々〆]+"
)
LONGEST_CODE = 40  # characters; longer ones are addresses, which are found by their parts

_MARKS = regex.compile(r"(?<!и)[\u0300-\u036f]|(?<=и)[\u0300-\u0305\u0307-\u036f]")  # й is a letter of its own
_LETTERS = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe"})
_UMLAUT = regex.compile("[äöü]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_CHARACTER = regex.compile(r"\X")  # with its marks: a consonant of Thai and its vowel
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_HUMP = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})")
_JOINED = regex.compile(r"(?<![\p{L}\p{N}])[\p{L}\p{N}]++(?:[-_.,:/@\\+']++[\p{L}\p{N}]++)++")
_SYMBOL = regex.compile(r"(?<![\p{L}\p{N}])\p{L}{1,2}(?:\+\+|[+#-])(?![\p{L}\p{N}])")
_GROUPED = regex.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d{2,}(?: \d{3,})+(?!\d|[.,]\d)")


def folded(text: str) -> str:
    """Return a text in which case, accents, widths and other ways to write the same are equal: Ａé, ё, ß."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", text)).translate(_LETTERS)


def divided(text: str) -> str:
    """Return the words of a text that spaces and marks divide, with a space between them; ``getName`` is two."""
    return " ".join(_WORD.findall(_HUMP.sub(" ", UNSPACED.sub(" ", text))))


def pairs(text: str) -> Iterator[str]:
    """Yield the overlapping pairs of characters of each run without spaces; of a single character itself."""
    for run in _runs(text):
        yield from (run if len(run) == 1 else map("".join, pairwise(run)))


def characters(text: str) -> Iterator[str]:
    """Yield the characters of each longer run, by which a query of one character finds it."""
    for run in _runs(text):
        yield from (run if len(run) > 1 else ())


def _runs(text: str) -> Iterator[list[str]]:
    return (_CHARACTER.findall(run) for run in UNSPACED.findall(text))


def codes(text: str) -> Iterator[str]:
    """Yield what a text joins by marks, without these, and other ways to write a word: e-mail, 1,250, C++, Zuerich."""
    words = _WORD.findall(text)
    humps = (word for word in words if _HUMP.search(word))
    for code in (*_JOINED.findall(text), *humps, *_GROUPED.findall(text)):
        joined = "".join(_WORD.findall(code)) if len(code) <= 2 * LONGEST_CODE else ""
        if 0 < len(joined) <= LONGEST_CODE and not UNSPACED.search(joined):
            yield folded(joined)
    yield from (folded(symbol) for symbol in _SYMBOL.findall(text))
    lower = (unicodedata.normalize("NFC", word).lower() for word in words)
    yield from (folded(word.translate(_UMLAUTS)) for word in lower if _UMLAUT.search(word))


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded: between spaces and marks, and pairs of characters where there are none."""
    return [*folded(divided(text)).split(), *pairs(folded(text))]


def word_count(text: str) -> int:
    """Return how many words a text has; two characters without spaces count as one."""
    unspaced = sum(len(run) for run in UNSPACED.findall(text))
    return len((UNSPACED.sub(" ", text) if unspaced else text).split()) + (unspaced + 1) // 2
