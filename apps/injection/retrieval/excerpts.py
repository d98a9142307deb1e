"""Cut a message down to an excerpt around one of its sentences."""

import re

from sentencex import segment

ELLIPSIS = "…"
MAX_EXCERPT_CHARS = 280  # three or four excerpts of this length fill a slot

# An asterisk or quotation mark at the start of the excerpt whose other half was cut off.
_UNPAIRED_MARK = re.compile(r"^[*_”’\"']+\s+")


def excerpt_around(text: str, sentence: str, limit: int = MAX_EXCERPT_CHARS) -> str:
    """Return at most ``limit`` characters of ``text`` on one line, in whole words, beginning with ``sentence``.

    If the sentence is near the end of the text, the excerpt begins with earlier sentences that fit.
    """
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    room = limit - 2 * len(f"{ELLIPSIS} ")
    start = _start(flat, " ".join(sentence.split()), room)
    shown = _whole_words(flat[start:], room)
    before = f"{ELLIPSIS} " if start else ""
    after = f" {ELLIPSIS}" if start + len(shown) < len(flat) else ""
    return f"{before}{_UNPAIRED_MARK.sub('', shown) if start else shown}{after}"


def _start(flat: str, wanted: str, room: int) -> int:
    """Return where the excerpt begins: at the sentence with ``wanted``, or earlier if all text from there on fits."""
    starts = _sentence_starts(flat)
    place = flat.find(wanted) if wanted else 0
    number = max((n for n, start in enumerate(starts) if start <= place), default=0)
    while number > 0 and len(flat) - starts[number - 1] <= room:
        number -= 1
    return starts[number]


def _sentence_starts(flat: str) -> list[int]:
    starts, end = [], 0
    for part in segment("en", flat):
        start = flat.find(part.strip(), end)
        if start != -1:
            starts.append(start)
            end = start + len(part.strip())
    return starts or [0]


def _whole_words(text: str, room: int) -> str:
    """Return at most ``room`` characters of ``text``, cut at a space if there is one."""
    if len(text) <= room:
        return text
    return text[: room + 1].rpartition(" ")[0].rstrip() or text[:room]
