"""Load one row, or tell that there is none."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from apps.common.problems import Missing

Row = TypeVar("Row", bound=Model)


def first_or_missing(rows: QuerySet[Row], detail: str) -> Row:
    """Return the first row. Raise Missing with ``detail`` if there is none."""
    row = rows.first()
    if row is None:
        raise Missing(detail)
    return row
