"""Reads of connections and of what they took."""

from datetime import date
from typing import Any
from uuid import UUID

from apps.common.problems import Missing
from apps.llm.models import Connection, TokenLimit, Usage


def access_connection(owner: Any, connection_id: UUID) -> Connection:
    """The owner's connection. Raises Missing."""
    found = Connection.objects.for_owner(owner).filter(pk=connection_id).first()
    if found is None:
        raise Missing("There is no such connection.")
    return found


def own_limit(owner: Any) -> int | None:
    """The tokens a day that the owner wants to spend at most, None where they set no limit."""
    return TokenLimit.objects.for_owner(owner).values_list("own_daily_tokens", flat=True).first()


def usage_since(owner: Any, first: date) -> list[Usage]:
    """What the owner's calls took on each day from ``first`` on, by model."""
    return list(Usage.objects.for_owner(owner).filter(day__gte=first).order_by("day", "model"))
