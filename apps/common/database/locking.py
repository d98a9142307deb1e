"""Rows that are created where they are missing, and locked."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def get_or_create_locked(
    rows: QuerySet[M], *, defaults: Mapping[str, Any] | None = None, **lookup: Any
) -> tuple[M, bool]:
    """Return the row with these values, locked until the transaction ends, and whether it was created.

    Who held the lock may have put another row in its place, as a restore does, or given it other values: then it is
    looked up again.
    """
    while True:
        row, created = rows.get_or_create(defaults=defaults, **lookup)
        if locked := rows.select_for_update().filter(pk=row.pk, **lookup).first():
            return locked, created
