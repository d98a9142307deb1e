"""Rows of which an owner has at most one default, such as personas. Callers hold ``lock_owner``."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Model, QuerySet


def claim_default(rows: QuerySet[Any], wanted: bool) -> bool:
    """Return whether a new row of the owner's ``rows`` becomes the default: if ``wanted``, or if there is none.

    The former default row is none any more.
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
