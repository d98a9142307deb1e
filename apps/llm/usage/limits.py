"""Token totals of an owner's connections, the daily limit on them, and both as a document. Days are UTC days."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from apps.common.database.compiled_queries import CompiledQuery
from apps.common.scoping import Owner, owner_id_of
from apps.common.stored_texts import gettext_stored
from apps.llm.generation import LimitReached
from apps.llm.models import TokenLimit, Usage

LISTED_DAYS = 14  # in the document
# Of a day: as sums they have no limit, unlike the columns.
TOTAL_TOKENS = Sum("prompt_tokens") + Sum("completion_tokens")
# Both are asked before each call of a model.
TOKENS_OF_DAY = CompiledQuery(
    lambda owner, day: (
        Usage.objects.for_owner(owner)
        .filter(day=day)
        .order_by()
        .values("day")
        .annotate(tokens=TOTAL_TOKENS)
        .values_list("tokens", flat=True)
    )
)
LIMIT = CompiledQuery(lambda owner: TokenLimit.objects.for_owner(owner)[:1])


def usage_today(owner: Owner) -> int:
    """Return the tokens that the owner's connections have used today."""
    row: Any = TOKENS_OF_DAY.first(owner_id_of(owner), timezone.now().date())
    return row or 0


def usage_by_day(owner: Owner, days: int) -> list[tuple[dt.date, int]]:
    """Return day and tokens for each of the last ``days`` days, today last; 0 tokens for a day without usage."""
    today = timezone.now().date()
    dates = [today - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    rows = Usage.objects.for_owner(owner).filter(day__gte=dates[0]).values("day")
    tokens = dict(rows.annotate(tokens=TOTAL_TOKENS).values_list("day", "tokens"))
    return [(day, tokens.get(day, 0)) for day in dates]


def usage_since(owner: Owner, first: dt.date) -> list[Usage]:
    """Return the owner's usage rows from the day ``first`` on, by day and model."""
    return list(Usage.objects.for_owner(owner).filter(day__gte=first).order_by("day", "model"))


def totals_of(rows: Sequence[Usage]) -> dict[str, int]:
    """Return the sums of usage rows, by column."""
    return {name: sum(getattr(row, name) for row in rows) for name in ("calls", "prompt_tokens", "completion_tokens")}


def own_limit(owner: Owner) -> int | None:
    """Return the daily token limit that the owner chose, or None."""
    return TokenLimit.objects.for_owner(owner).values_list("own_daily_tokens", flat=True).first()


def effective_limit(owner: Owner) -> int | None:
    """Return the daily token limit that applies: the lower of the operator's and the owner's own, or None."""
    row = LIMIT.first(owner_id_of(owner))
    granted = settings.LLM_DAILY_TOKENS if row is None or row.daily_tokens is None else row.daily_tokens
    limits = [granted or None, row.own_daily_tokens if row else None]
    return min((limit for limit in limits if limit is not None), default=None)


def check_limit(owner: Owner) -> None:
    """Raise LimitReached if the owner has no tokens left today."""
    limit = effective_limit(owner)
    if limit is not None and (used := usage_today(owner)) >= limit:
        raise LimitReached(
            gettext_stored(
                "The limit of %(limit)s tokens a day is reached (%(used)s used). It resets at midnight, UTC.",
                limit=f"{limit:,}",
                used=f"{used:,}",
            )
        )


def usage_document(owner: Owner) -> dict[str, Any]:
    """Return today's totals, the daily limit, and the totals of the last days by day and model. Days are UTC days."""
    today = timezone.now().date()
    rows = usage_since(owner, today - dt.timedelta(days=LISTED_DAYS - 1))
    return {
        "today": _listed([row for row in rows if row.day == today]),
        "limit": effective_limit(owner),
        "days": [{"day": row.day, "model": row.model} | _listed([row]) for row in rows],
    }


def _listed(rows: Sequence[Usage]) -> dict[str, int]:
    totals = totals_of(rows)
    return totals | {"total_tokens": totals["prompt_tokens"] + totals["completion_tokens"]}
