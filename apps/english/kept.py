"""Keep what functions of a text return, in a bounded part of the memory."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

T = TypeVar("T")

# A result takes some 30 times the memory of its text: what is kept of a function is at most 15 MB, mostly less than 5.
MAX_SHORT, KEPT_SHORT = 200, 2048  # characters, and how many: as long as most statements
MAX_LONG, KEPT_LONG = 4000, 32  # as long as queries, and messages that are compared with many statements


def keep_results(function: Callable[[str], T]) -> Callable[[str], T]:
    """Return the function with the results for the last texts kept: for many short ones, and for few long ones."""
    short, long = lru_cache(KEPT_SHORT)(function), lru_cache(KEPT_LONG)(function)

    @wraps(function)
    def kept(text: str) -> T:
        length = len(text)
        if length <= MAX_SHORT:
            return short(text)
        return long(text) if length <= MAX_LONG else function(text)

    result: Any = kept
    result.caches = (short, long)
    return kept
