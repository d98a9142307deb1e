"""Bar chart of daily tokens, in SVG units."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

HEIGHT = 100
BAR_WIDTH = 20
GAP = 6
MIN_BAR_HEIGHT = 2  # minimum height for a day with any usage


@dataclass(frozen=True)
class Bar:
    """Rectangle for one day."""

    day: date
    tokens: int
    x: int
    y: int
    height: int
    width: int = BAR_WIDTH


def bars_of(days: Sequence[tuple[date, int]]) -> list[Bar]:
    """Return one bar per day, left to right, scaled so that the highest has the height of the chart."""
    highest = max((tokens for _, tokens in days), default=0)
    return [_bar(index, day, tokens, highest) for index, (day, tokens) in enumerate(days)]


def width_of(bars: Sequence[Bar]) -> int:
    """Return the width of the chart."""
    return max(len(bars) * (BAR_WIDTH + GAP) - GAP, 1)


def _bar(index: int, day: date, tokens: int, highest: int) -> Bar:
    height = max(round(tokens * HEIGHT / highest), MIN_BAR_HEIGHT) if tokens else 0
    return Bar(day, tokens, x=index * (BAR_WIDTH + GAP), y=HEIGHT - height, height=height)
