"""Tokens a day as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

HEIGHT = 100  # of the drawing, in its own units
WIDTH = 20  # of a bar
GAP = 6
LEAST = 2  # height of a day on which there was anything at all


@dataclass(frozen=True)
class Bar:
    day: date
    tokens: int
    x: int
    y: int
    height: int
    width: int = WIDTH


def bars_of(days: Sequence[tuple[date, int]]) -> list[Bar]:
    """A bar for each day, from left to right; the highest fills the drawing."""
    most = max((tokens for _, tokens in days), default=0)
    return [_bar(number, day, tokens, most) for number, (day, tokens) in enumerate(days)]


def width_of(bars: Sequence[Bar]) -> int:
    """Of the whole drawing."""
    return max(len(bars) * (WIDTH + GAP) - GAP, 1)


def _bar(number: int, day: date, tokens: int, most: int) -> Bar:
    height = max(round(tokens * HEIGHT / most), LEAST) if tokens else 0
    return Bar(day, tokens, x=number * (WIDTH + GAP), y=HEIGHT - height, height=height)
