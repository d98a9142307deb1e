"""Usage as the API replies it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from apps.common import clock
from apps.llm.models import Usage
from apps.llm.queries import usage_since
from apps.llm.usage import limit_of

DAYS = 14


def usage_document(owner: Any) -> dict[str, Any]:
    """Today against the limit, and each of the last days by model; days are those of UTC."""
    today = clock.now().date()
    rows = usage_since(owner, today - timedelta(days=DAYS - 1))
    return {
        "today": _totals([row for row in rows if row.day == today]),
        "limit": limit_of(owner),
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
