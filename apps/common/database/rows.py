"""Load a row, create it where it is missing, and keep at most one default among an owner's rows."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from apps.common.problems import Missing

Row = TypeVar("Row", bound=Model)


def first_or_missing(rows: QuerySet[Row], detail: str) -> Row:
    """Return the first row. Raise Missing with ``detail`` if there is none."""
    row = rows.first()
    if row is None:
        raise Missing(detail)
    return row


def get_or_create_locked(
    rows: QuerySet[Row], *, defaults: Mapping[str, Any] | None = None, **lookup: Any
) -> tuple[Row, bool]:
    """Return the row with these values, locked until the transaction ends, and whether it was created.

    Who held the lock may have put another row in its place, as a restore does, or given it other values: then it is
    looked up again.
    """
    while True:
        row, created = rows.get_or_create(defaults=defaults, **lookup)
        if locked := rows.select_for_update().filter(pk=row.pk, **lookup).first():
            return locked, created


def claim_default(rows: QuerySet[Any], wanted: bool) -> bool:
    """Return whether a new row of the owner's ``rows`` becomes the default: if ``wanted``, or if there is none.

    The former default row is none any more. The caller holds ``lock_owner``.
    """
    defaults = rows.filter(is_default=True)
    if wanted:
        defaults.update(is_default=False)
    return wanted or not defaults.exists()


def update_row(row: Model, rows: QuerySet[Any], fields: Mapping[str, Any]) -> None:
    """Change fields of a row and save it. If it becomes the default, no other of the owner's ``rows`` is."""
    if fields.get("is_default"):
        rows.filter(is_default=True).exclude(pk=row.pk).update(is_default=False)
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(update_fields=[*fields, "updated_at"])
