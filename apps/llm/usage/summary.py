"""Usage as a JSON document of the API."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.common.scoping import Owner
from apps.llm.models import Usage
from apps.llm.usage.limits import effective_limit, usage_since

LISTED_DAYS = 14


def usage_document(owner: Owner) -> dict[str, Any]:
    """Return today's totals, the daily limit, and the totals of the last days by day and model. Days are UTC days."""
    today = timezone.now().date()
    rows = usage_since(owner, today - timedelta(days=LISTED_DAYS - 1))
    return {
        "today": _totals([row for row in rows if row.day == today]),
        "limit": effective_limit(owner),
        "days": [{"day": row.day, "model": row.model} | _totals([row]) for row in rows],
    }


def _totals(rows: Sequence[Usage]) -> dict[str, int]:
    prompt, completion = sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows)
    return {
        "calls": sum(row.calls for row in rows),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
