"""Texts as the desk shows them: what rules found is marked, and of a very long text it shows the part that matters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.moderation.scanning.rules import Matcher

SHOWN = 6000  # characters of a text
BEFORE = 600  # characters before the first mark, of a text that is longer than what is shown
MAX_MARKS = 50  # of a text


@dataclass(frozen=True)
class Excerpt:
    """Pieces of a text, each with whether it is marked, and how many characters are left out before and after them."""

    pieces: list[tuple[str, bool]]
    before: int = 0
    after: int = 0


def excerpt(text: str, matchers: Sequence[Matcher] = ()) -> Excerpt:
    """Return a text, or the part of a long one that begins shortly before its first mark."""
    spans = _merged(span for matcher in matchers for span in matcher.spans(text, MAX_MARKS))
    start = max(spans[0][0] - BEFORE, 0) if spans and len(text) > SHOWN else 0
    end = min(start + SHOWN, len(text))
    pieces, at = [], start
    for first, last in spans:
        if first >= end:
            break
        pieces += [(text[at:first], False), (text[first : min(last, end)], True)]
        at = min(last, end)
    pieces.append((text[at:end], False))
    return Excerpt([piece for piece in pieces if piece[0]], start, len(text) - end)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, those that touch as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        elif last > first:
            merged.append((first, last))
    return merged
