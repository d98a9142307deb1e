"""Conditions that a client writes as JSON: fields with operators, joined by and, or and not.

``{"tags": {"any": ["work"]}, "metadata.score": {"gte": 3}, "not": {"kind": "event"}}``: all conditions of an object
hold, and a bare value is compared with ``eq``. What is unknown is refused by name, and never ignored.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Q

from apps.common.problems import Invalid, pointer_of

MAX_DEPTH = 10
MAX_CONDITIONS = 100
MAX_VALUES = 1000  # of one list
MAX_TEXT = 4000

Path = tuple[str | int, ...]
Operator = Callable[[Any, Path], Q]
Field = Mapping[str, Operator]


class Joiners(NamedTuple):
    """The keys that join conditions."""

    all: str
    any: str
    none: str


LOWER_CASE = Joiners("and", "or", "not")


class Filter:
    """A reader of filter documents. ``field_of`` returns the operators of a field, or None for an unknown one."""

    def __init__(
        self, field_of: Callable[[str], Field | None], known: Sequence[str], joiners: Joiners = LOWER_CASE
    ) -> None:
        self._field_of = field_of
        self._known = known
        self._joiners = joiners

    def read(self, document: Any, path: Path) -> Q:
        """Return the condition of a document at ``path`` of the request. Raise Invalid, naming what is wrong."""
        return self._all([document], path, _Budget(), 0)

    def _all(self, documents: Sequence[Any], path: Path, budget: "_Budget", depth: int) -> Q:
        condition = Q()
        for document in documents:
            if not isinstance(document, dict):
                raise refused(path, "It must be an object with conditions.")
            for key, value in document.items():
                condition &= self._one(key, value, (*path, key), budget, depth)
        return condition

    def _one(self, key: str, value: Any, path: Path, budget: "_Budget", depth: int) -> Q:
        budget.spend(path, depth)
        if key == self._joiners.none:
            return ~self._all(value if isinstance(value, list) else [value], path, budget, depth + 1)
        if key in self._joiners:
            if not isinstance(value, list) or not value:
                raise refused(path, "It must be a list of conditions.")
            parts = [self._all([part], (*path, number), budget, depth + 1) for number, part in enumerate(value)]
            return _joined(parts, Q.AND if key == self._joiners.all else Q.OR)
        field = self._field_of(key)
        if field is None:
            names = ", ".join([*self._known, *self._joiners])
            raise refused(path, f"There is no field {key!r} to filter by. Known are: {names}.")
        return self._compared(field, value, path, budget, depth)

    def _compared(self, field: Field, value: Any, path: Path, budget: "_Budget", depth: int) -> Q:
        """Return the condition of a field: several operators hold together."""
        comparisons = value if isinstance(value, dict) else {"eq": value}
        if not comparisons:
            raise refused(path, "It must name an operator.")
        condition = Q()
        for number, (operator, operand) in enumerate(comparisons.items()):
            if number:  # the first is counted with its field
                budget.spend(path, depth)
            if operator not in field:
                raise refused(
                    (*path, operator), f"There is no operator {operator!r} here. Known are: {', '.join(field)}."
                )
            condition &= field[operator](operand, path if operand is value else (*path, operator))
        return condition


class _Budget:
    """What is left of the conditions that one filter may have."""

    def __init__(self) -> None:
        self.left = MAX_CONDITIONS

    def spend(self, path: Path, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise refused(path, f"A filter may have at most {MAX_CONDITIONS} conditions.")
        if depth > MAX_DEPTH:
            raise refused(path, f"A filter may be at most {MAX_DEPTH} levels deep.")


def _joined(parts: Sequence[Q], connector: str) -> Q:
    """Return the conditions joined; an empty one, which any row meets, is kept as such."""
    if connector == Q.OR and not all(parts):
        return Q()
    return Q(*parts, _connector=connector)


def refused(path: Path, detail: str) -> Invalid:
    """Return the problem of what stands at ``path``."""
    return Invalid.at(pointer_of(path), detail)


# Values


def text_of(value: Any, path: Path) -> str:
    """Return a text. Raise Invalid."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise refused(path, f"It must be a text of at most {MAX_TEXT} characters.")
    return value


def list_of(value: Any, path: Path) -> list[Any]:
    """Return a list of values. Raise Invalid."""
    if not isinstance(value, list) or len(value) > MAX_VALUES:
        raise refused(path, f"It must be a list of at most {MAX_VALUES} values.")
    return value


def texts_of(value: Any, path: Path) -> list[str]:
    """Return a list of texts. Raise Invalid."""
    return [text_of(one, (*path, number)) for number, one in enumerate(list_of(value, path))]


def moment_of(value: Any, path: Path) -> tuple[dt.datetime, dt.datetime]:
    """Return the first moment of a date or of a moment, and the first one after it. Raise Invalid.

    A number is seconds since 1970; a moment without an offset is in UTC.
    """
    try:
        if isinstance(value, str) and len(value) == len("2026-11-27"):
            day = dt.datetime.combine(dt.date.fromisoformat(value), dt.time(), dt.UTC)
            return day, day + dt.timedelta(days=1)
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = dt.datetime.fromtimestamp(value, dt.UTC)
        else:
            moment = dt.datetime.fromisoformat(text_of(value, path))
            moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return moment.astimezone(dt.UTC), moment.astimezone(dt.UTC) + dt.timedelta(microseconds=1)
    except (ValueError, OverflowError, OSError):
        raise refused(path, "It must be a date such as 2026-11-27, or a moment such as 2026-11-27T08:00:00Z.") from None
