"""Cuts what was said down to the part that matters."""

import re

from sentencex import segment

ELLIPSIS = "…"
LIMIT = 280  # characters: three or four such passages make a slot

# What is left of an asterisk or a quotation mark whose other half was cut off.
_STRAY = re.compile(r"^[*_”’\"']+\s+")


def around(text: str, sentence: str, limit: int = LIMIT) -> str:
    """At most ``limit`` characters of ``text`` on one line, from the sentence that matters on, in whole words.

    Where that sentence is near the end, sentences before it fill the room.
    """
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    room = limit - 2 * len(f"{ELLIPSIS} ")
    start = _start(flat, " ".join(sentence.split()), room)
    shown = _whole_words(flat[start:], room)
    before = f"{ELLIPSIS} " if start else ""
    after = f" {ELLIPSIS}" if start + len(shown) < len(flat) else ""
    return f"{before}{_STRAY.sub('', shown) if start else shown}{after}"


def _start(flat: str, wanted: str, room: int) -> int:
    """Where the excerpt begins: the sentence that holds ``wanted``, or one before it if all from there on fits."""
    starts = _sentence_starts(flat)
    place = flat.find(wanted) if wanted else 0
    number = max((n for n, start in enumerate(starts) if start <= place), default=0)
    while number > 0 and len(flat) - starts[number - 1] <= room:
        number -= 1
    return starts[number]


def _sentence_starts(flat: str) -> list[int]:
    starts, end = [], 0
    for part in segment("en", flat):
        found = flat.find(part.strip(), end)
        if found != -1:
            starts.append(found)
            end = found + len(part.strip())
    return starts or [0]


def _whole_words(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return text[: room + 1].rpartition(" ")[0].rstrip() or text[:room]
