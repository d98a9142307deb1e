"""The features of a sentence that tell whether it is worth remembering, in any language. Without database access.

A feature is a bucket: the hash of a word, of two neighbouring words, of a word's beginning or end, or, in scripts
without spaces, of up to three characters. No list of words is needed, and what no training sentence has counts little.
"""

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise

from apps.builtin.reading.tokens import IS_UNSPACED, TOKEN, size_of

BUCKETS = 1 << 15
_CAPITALIZED = re.compile(r"(?<=[\w,;] )[^\W\d_a-zß-öø-ÿа-яё]\w+")
_SIZES = (2, 4, 7, 12, 20, 32)
MAX_COUNTED = 3  # of names, numbers and commas
LEADING_WORDS = 2  # whose places count
_BEGINNING, _ENDING = 5, 3  # characters of a word that count as its stem and as its ending


def buckets_of(text: str, *, spoken: bool) -> list[int]:
    """Return the buckets of a sentence's features, each once. ``spoken`` is False for narration."""
    return sorted({zlib.crc32(feature.encode()) % BUCKETS for feature in _features(text, spoken=spoken)})


def _features(text: str, *, spoken: bool) -> Iterator[str]:
    tokens = TOKEN.findall(text.replace("’", "'"))
    size = size_of(text)
    yield "spoken" if spoken else "narrated"
    yield from (f"size>{limit}" for limit in _SIZES if size > limit)
    yield from (f"names>{limit}" for limit in range(min(len(_CAPITALIZED.findall(text)), MAX_COUNTED)))
    yield from (f"numbers>{limit}" for limit in range(min(sum(token.isdecimal() for token in tokens), MAX_COUNTED)))
    yield from (f"commas>{limit}" for limit in range(min(len(re.findall(r"[,，、;；]", text)), MAX_COUNTED)))
    words = ["0" * len(token) if token.isdecimal() else token.casefold() for token in tokens]
    for position, word in enumerate(words):
        if IS_UNSPACED.match(word):
            yield from _pieces(word)
            continue
        yield f"w:{word}"
        yield f"b:{word[:_BEGINNING]}"
        yield f"e:{word[-_ENDING:]}"
        if position < LEADING_WORDS:
            yield f"{position}:{word}"
    joined = ["^", *words, "$"]
    yield from (
        f"2:{one} {other}"
        for one, other in pairwise(joined)
        if not (IS_UNSPACED.match(one) or IS_UNSPACED.match(other))
    )


def _pieces(run: str) -> Iterator[str]:
    """Yield the pieces of a run of characters in a script without spaces, with its borders."""
    bordered = f"^{run}$"
    for length in (1, 2, 3):
        yield from (f"c:{bordered[start : start + length]}" for start in range(len(bordered) - length + 1))
