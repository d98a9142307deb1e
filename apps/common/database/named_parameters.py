"""Convert between named parameters, with which we write SQL, and the numbered ones of querysets."""

import re
from typing import Any

from django.db import models
from django.db.models.expressions import RawSQL


def ids_of(sql: str, **parameters: Any) -> RawSQL:
    """Return a statement with named parameters for lookups such as ``pk__in``."""
    values = [parameters[name] for name in re.findall(r"%\((\w+)\)s", sql)]
    return RawSQL(re.sub(r"%\(\w+\)s", "%s", sql), values)  # noqa: S611 - composed of our own constants


def named_sql(rows: models.QuerySet[Any], prefix: str) -> tuple[str, dict[str, Any]]:
    """Return the statement of a queryset with named parameters, and their values, for use within other statements."""
    sql, values = rows.query.sql_with_params()
    parameters = {f"{prefix}_{number}": value for number, value in enumerate(values)}
    names = iter(parameters)
    return re.sub("%s", lambda _: f"%({next(names)})s", sql), parameters
