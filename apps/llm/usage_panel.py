"""What an owner's connections took, ready to be shown: today against the limit, the last days, and by model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from apps.llm.models import Usage
from apps.llm.queries import own_limit, usage_since
from apps.llm.usage import limit_of, usage_by_day
from apps.llm.usage_chart import HEIGHT, Bar, bars_of, width_of

DAYS = 14
NEARLY = 0.9  # of the limit


@dataclass(frozen=True)
class ModelUsage:
    """What one model took over some days."""

    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class UsagePanel:
    """``limit`` is what holds today, None where nothing does; ``own`` is the owner's; ``bars`` go up to today."""

    limit: int | None
    own: int | None
    bars: list[Bar]
    models: list[ModelUsage]
    height: int = HEIGHT

    @property
    def today(self) -> int:
        return self.bars[-1].tokens

    @property
    def first(self) -> date:
        return self.bars[0].day

    @property
    def most(self) -> int:
        return max(bar.tokens for bar in self.bars)

    @property
    def width(self) -> int:
        return width_of(self.bars)

    @property
    def nearly(self) -> float:
        """From where on the limit is nearly used up."""
        return (self.limit or 0) * NEARLY


def usage_panel(owner: Any) -> UsagePanel:
    bars = bars_of(usage_by_day(owner, DAYS))
    return UsagePanel(limit_of(owner), own_limit(owner), bars, _by_model(usage_since(owner, bars[0].day)))


def _by_model(rows: Sequence[Usage]) -> list[ModelUsage]:
    """What each model took, the one that took most first."""
    totals = [_total([row for row in rows if row.model == model]) for model in {row.model for row in rows}]
    return sorted(totals, key=lambda total: (-total.prompt_tokens - total.completion_tokens, total.model))


def _total(rows: Sequence[Usage]) -> ModelUsage:
    """The sum of some rows of one model."""
    return ModelUsage(
        model=rows[0].model,
        calls=sum(row.calls for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
    )
