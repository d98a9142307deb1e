"""Shorten a message to an excerpt around one of its sentences."""

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
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    max_length = limit - 2 * len(f"{ELLIPSIS} ")
    start = _excerpt_start(line, " ".join(sentence.split()), max_length)
    excerpt = _truncate_to_words(line[start:], max_length)
    before = f"{ELLIPSIS} " if start else ""
    after = f" {ELLIPSIS}" if start + len(excerpt) < len(line) else ""
    return f"{before}{_UNPAIRED_MARK.sub('', excerpt) if start else excerpt}{after}"


def _excerpt_start(line: str, sentence: str, max_length: int) -> int:
    """Return the offset of ``sentence``, or of an earlier sentence if all text from there on fits."""
    offset = line.find(sentence) if sentence else 0
    # What follows need not be divided into sentences, which takes long where thousands of quotations are not closed.
    starts = _sentence_starts(line[: max(offset, 0) + max_length])
    index = max((i for i, start in enumerate(starts) if start <= offset), default=0)
    while index > 0 and len(line) - starts[index - 1] <= max_length:
        index -= 1
    return starts[index]


def _sentence_starts(line: str) -> list[int]:
    starts, end = [], 0
    for part in segment("en", line):
        start = line.find(part.strip(), end)
        if start != -1:
            starts.append(start)
            end = start + len(part.strip())
    return starts or [0]


def _truncate_to_words(text: str, max_length: int) -> str:
    """Return at most ``max_length`` characters of ``text``, cut at a space if possible."""
    if len(text) <= max_length:
        return text
    return text[: max_length + 1].rpartition(" ")[0].rstrip() or text[:max_length]
