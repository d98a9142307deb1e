"""Keys of lorebook entries that are regular expressions of JavaScript.

They are written ``/pattern/flags``, as in SillyTavern, or are a pattern alone, where the entry says so.
"""

import re
import time
from functools import lru_cache

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
