"""Whether the keys of a lorebook entry match a text. Entries are of card version 3, with SillyTavern's fields.

A key is a text, a regular expression of JavaScript written ``/pattern/flags``, as in SillyTavern, or a pattern alone,
where the entry says so.
"""

import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import regex
import structlog

logger = structlog.get_logger(__name__)

MAX_PATTERN = 1_000  # characters
SEARCH_SECONDS = 0.05  # for one key in one text
SEARCH_SECONDS_OF_BOOK = 0.5  # for all keys of a book in one prompt

KEY = re.compile(r"/(.+?)/([gimsuy]*)", re.DOTALL)
UNESCAPED_SLASH = re.compile(r"(?:^|[^\\])/")
FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
CODE_POINT = re.compile(r"(?<!\\)\\u\{([0-9a-fA-F]{1,6})\}")  # with the flag u
PART = re.compile(r"\\.|\[\^?\]|\[\^?|\]|\$|.", re.DOTALL)
# In JavaScript words and digits are those of ASCII, and an end is not one before a line break.
WORD = "A-Za-z0-9_"
AS_IN_JAVASCRIPT = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": f"[{WORD}]",
    r"\W": f"[^{WORD}]",
    r"\b": f"(?:(?<![{WORD}])(?=[{WORD}])|(?<=[{WORD}])(?![{WORD}]))",
    r"\B": f"(?:(?<![{WORD}])(?![{WORD}])|(?<=[{WORD}])(?=[{WORD}]))",
    "[^]": "(?s:.)",
    "[]": "(?!)",
    r"\A": "A",
    r"\Z": "Z",
}
IN_CLASS = {r"\d": "0-9", r"\w": WORD}


class KeyPatterns:
    """Search for the regular expressions of one book, in a limited time: an expression may take forever."""

    def __init__(self) -> None:
        self._seconds_left = SEARCH_SECONDS_OF_BOOK

    def found(self, key: str, text: str, *, bare_flags: str | None = None) -> bool | None:
        """Return whether a key that is a regular expression matches a text; None for any other key.

        With ``bare_flags`` a key without slashes is a pattern with these flags. An expression that takes too long, or
        such a pattern that isn't valid, matches nothing.
        """
        pattern = pattern_of(key)
        if pattern is None and bare_flags is not None:
            pattern = compiled(key, bare_flags)
            if pattern is None:
                return False
        if pattern is None:
            return None
        if self._seconds_left <= 0:
            return False
        begun = time.perf_counter()
        try:
            return pattern.search(text, timeout=min(SEARCH_SECONDS, self._seconds_left)) is not None
        except TimeoutError:
            logger.warning("a lorebook key takes too long", key=key[:100])
            return False
        finally:
            self._seconds_left -= time.perf_counter() - begun


@lru_cache(maxsize=500)  # one takes some 10 kB, and one of 1,000 characters 100
def pattern_of(key: str) -> regex.Pattern[str] | None:
    """Return the expression in a key, or None if the key is a text, as one that is no valid expression."""
    match = KEY.fullmatch(key)
    if match is None or UNESCAPED_SLASH.search(match[1]):
        return None
    return compiled(match[1], match[2])


@lru_cache(maxsize=500)
def compiled(pattern: str, flags_of_javascript: str) -> regex.Pattern[str] | None:
    """Return a pattern of JavaScript with its flags, or None if it is not valid or too long."""
    if len(pattern) > MAX_PATTERN:
        return None
    flags = regex.VERSION0
    if "u" in flags_of_javascript:
        pattern = CODE_POINT.sub(_eight_digits, pattern)
    for flag in flags_of_javascript:
        flags |= FLAGS.get(flag, 0)
    try:
        return regex.compile(_translated(pattern, is_multiline="m" in flags_of_javascript), flags)
    except (regex.error, OverflowError, RecursionError):
        return None


def _eight_digits(match: re.Match[str]) -> str:
    """Return a code point as `regex` has it; what is beyond Unicode matches nothing there either."""
    return rf"\U{match[1]:0>8}"


def _translated(pattern: str, *, is_multiline: bool) -> str:
    """Return a pattern of JavaScript in the syntax of ``regex``."""
    parts: list[str] = []
    is_class = False
    for part in PART.findall(pattern):
        if is_class:
            parts.append(part.replace("[", r"\[", 1) if part[0] == "[" else IN_CLASS.get(part, part))
            is_class = part[-1] != "]" or part == r"\]"
        elif part[0] == "[" and part[-1] != "]":
            parts.append(part)
            is_class = True
        elif part == "$" and not is_multiline:
            parts.append(r"\Z")
        else:
            parts.append(AS_IN_JAVASCRIPT.get(part, part))
    return "".join(parts)


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


LoreEntry = Mapping[str, Any]

# SillyTavern's numbers in ``selectiveLogic``: what the secondary keys must do, given which of them match.
LOGICS: dict[object, Callable[[Iterable[bool]], bool]] = {
    0: any,
    1: lambda found: not all(found),
    2: lambda found: not any(found),
    3: all,
}
# What a keyboard or a model writes in place of a character of a key, and what is shown as nothing.
_ALIKE = {**dict.fromkeys(map(ord, "‘’ʼ′"), "'"), **dict.fromkeys(map(ord, "“”„″"), '"')}
_ALIKE |= dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"), "")


def extra_of(entry: LoreEntry, field: str) -> Any:
    """Return a field of the entry's extensions, or None."""
    extensions = entry.get("extensions")
    return extensions.get(field) if isinstance(extensions, dict) else None


def is_usable(entry: LoreEntry) -> bool:
    """Return whether an entry is enabled and has a text."""
    return bool(entry.get("enabled", True) and str(entry.get("content", "")).strip())


def matches(entry: LoreEntry, scanned: str, patterns: KeyPatterns) -> bool:
    """Return whether an entry is constant, or one of its keys matches, and if it is selective, its secondary keys too.

    What its decorators ask of further keys holds in any case. Keys of the form ``/pattern/flags`` are regular
    expressions, whatever ``use_regex`` says, as in SillyTavern. ``use_regex`` makes all of them patterns.
    """
    scanned = unicodedata.normalize("NFC", scanned)
    required, excluded = entry.get("required_keys") or [], entry.get("excluded_keys") or []
    if not all(any(_found(entry, keys, scanned, patterns)) for keys in required):
        return False
    if any(_found(entry, excluded, scanned, patterns)):
        return False
    if entry.get("constant"):
        return True
    if not any(_found(entry, entry.get("keys"), scanned, patterns)):
        return False
    secondary = list(_found(entry, entry.get("secondary_keys"), scanned, patterns))
    if not entry.get("selective") or not secondary:
        return True
    logic = extra_of(entry, "selectiveLogic")
    return LOGICS.get(logic if isinstance(logic, int) else 0, any)(secondary)


def _found(entry: LoreEntry, keys: Iterable[Any] | None, scanned: str, patterns: KeyPatterns) -> Iterator[bool]:
    """Yield for each key that is not empty whether it is in the text. Expressions say themselves how they match."""
    is_sensitive = bool(entry.get("case_sensitive"))
    whole = extra_of(entry, "match_whole_words") is True
    text = _folded_text(scanned, is_sensitive)
    bare_flags = ("" if is_sensitive else "i") if entry.get("use_regex") is True else None
    for key in filter(None, (unicodedata.normalize("NFC", str(key)).strip() for key in keys or [])):
        found = patterns.found(key, scanned, bare_flags=bare_flags)
        if found is None:
            plain = _folded(key, is_sensitive)
            found = bool(plain) and (_has_word(plain, text) if whole else plain in text)
        yield found


@lru_cache(maxsize=2)  # thousands of entries are compared with the same messages
def _folded_text(text: str, is_sensitive: bool) -> str:
    return _folded(text, is_sensitive)


def _folded(text: str, is_sensitive: bool) -> str:
    """Return a text in which what differs only in how it is written is equal: marks, spaces, widths, perhaps case."""
    text = " ".join(unicodedata.normalize("NFKC", text.translate(_ALIKE)).split())
    return text if is_sensitive else text.casefold()


def _has_word(key: str, scanned: str) -> bool:
    return any(is_whole_word(scanned, *match.span()) for match in re.finditer(re.escape(key), scanned))
