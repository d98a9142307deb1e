"""What an owner's calls took, and what they may take."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db.models import F, Sum

from apps.common import clock
from apps.llm.generation import LimitReached
from apps.llm.models import TokenLimit, Usage

TOKENS = F("prompt_tokens") + F("completion_tokens")


def usage_today(owner: Any) -> int:
    """Tokens that the owner's connections took since midnight, UTC."""
    rows = Usage.objects.for_owner(owner).filter(day=clock.now().date())
    return rows.aggregate(tokens=Sum(TOKENS))["tokens"] or 0


def usage_by_day(owner: Any, days: int) -> list[tuple[dt.date, int]]:
    """Tokens on each of the last ``days`` days, today the last, days without any included."""
    today = clock.now().date()
    dates = [today - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    rows = Usage.objects.for_owner(owner).filter(day__gte=dates[0]).values("day")
    taken = dict(rows.annotate(tokens=Sum(TOKENS)).values_list("day", "tokens"))
    return [(day, taken.get(day, 0)) for day in dates]


def limit_of(owner: Any) -> int | None:
    """Tokens a day that the owner's connections may take: the operator's limit, or the owner's own where it is lower.

    None where there is none.
    """
    row = TokenLimit.objects.for_owner(owner).first()
    granted = settings.LLM_DAILY_TOKENS if row is None or row.daily_tokens is None else row.daily_tokens
    limits = [granted or None, row.own_daily_tokens if row else None]
    return min((limit for limit in limits if limit is not None), default=None)


def check_limit(owner: Any) -> None:
    """Raises LimitReached where the owner's tokens of today are spent."""
    limit = limit_of(owner)
    if limit is not None and (taken := usage_today(owner)) >= limit:
        raise LimitReached(
            f"The limit of {limit:,} tokens a day is reached ({taken:,} taken). It begins anew at midnight, UTC."
        )
