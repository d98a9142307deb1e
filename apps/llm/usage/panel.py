"""Usage as the settings page shows it: today against the limit, a chart of the last days, totals by model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from apps.common.scoping import Owner
from apps.llm.models import Usage
from apps.llm.usage.limits import effective_limit, own_limit, totals_of, usage_by_day, usage_since

SHOWN_DAYS = 14
WARNING_SHARE = 0.9  # share of the limit from which the meter warns
# Of the chart, in SVG units.
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


@dataclass(frozen=True)
class ModelUsage:
    """Totals of one model."""

    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class UsagePanel:
    """Data of the panel. ``limit`` is the limit that applies, ``own_limit`` the owner's; the last bar is today."""

    limit: int | None
    own_limit: int | None
    bars: list[Bar]
    models: list[ModelUsage]
    height: int = HEIGHT

    @property
    def today(self) -> int:
        """Return today's tokens."""
        return self.bars[-1].tokens

    @property
    def first_day(self) -> date:
        """Return the first day of the chart."""
        return self.bars[0].day

    @property
    def max_tokens(self) -> int:
        """Return the highest number of tokens on one day."""
        return max(bar.tokens for bar in self.bars)

    @property
    def width(self) -> int:
        """Return the width of the chart."""
        return max(len(self.bars) * (BAR_WIDTH + GAP) - GAP, 1)

    @property
    def warning_threshold(self) -> float:
        """Return the number of tokens from which the meter warns."""
        return (self.limit or 0) * WARNING_SHARE


def usage_panel(owner: Owner) -> UsagePanel:
    """Return the panel of an owner."""
    bars = bars_of(usage_by_day(owner, SHOWN_DAYS))
    return UsagePanel(effective_limit(owner), own_limit(owner), bars, _by_model(usage_since(owner, bars[0].day)))


def bars_of(days: Sequence[tuple[date, int]]) -> list[Bar]:
    """Return one bar per day, left to right, scaled so that the highest has the height of the chart."""
    highest = max((tokens for _, tokens in days), default=0)
    return [_bar(index, day, tokens, highest) for index, (day, tokens) in enumerate(days)]


def _bar(index: int, day: date, tokens: int, highest: int) -> Bar:
    height = max(round(tokens * HEIGHT / highest), MIN_BAR_HEIGHT) if tokens else 0
    return Bar(day, tokens, x=index * (BAR_WIDTH + GAP), y=HEIGHT - height, height=height)


def _by_model(rows: Sequence[Usage]) -> list[ModelUsage]:
    """Return the totals of each model, most tokens first."""
    models = {row.model for row in rows}
    totals = [ModelUsage(model, **totals_of([row for row in rows if row.model == model])) for model in models]
    return sorted(totals, key=lambda total: (-total.prompt_tokens - total.completion_tokens, total.model))
