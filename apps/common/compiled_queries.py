"""Queries that are compiled to SQL once, for paths where compiling one takes longer than running it."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from inspect import signature
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=models.Model)


class CompiledQuery(Generic[M]):
    """Query whose conditions depend on keys alone, which are values of columns, or lists of them for ``__any``.

    ``build`` returns its queryset for an expression in place of each key. It is called once.
    """

    def __init__(self, build: Callable[..., models.QuerySet[M]]) -> None:
        self._build = build

    def rows(self, *keys: Any) -> models.QuerySet[M]:
        """Return the rows for ``keys``. The queryset can only be evaluated, not refined."""
        compiled, sql, parameters = self._compiled
        values = tuple(keys[item.number] if isinstance(item, _Place) else item for item in parameters)
        compiler, query = copy(compiled), copy(compiled.query)
        compiler.connection = connections[DEFAULT_DB_ALIAS]
        compiler.as_sql = lambda *args, **kwargs: (sql, values)  # type: ignore[method-assign]
        query.get_compiler = lambda *args, **kwargs: compiler  # type: ignore[method-assign]
        return models.QuerySet(query.model, query)

    def first(self, *keys: Any) -> M | None:
        """Return the first row for ``keys``, or None."""
        return next(iter(self.rows(*keys)), None)

    @cached_property
    def _compiled(self) -> tuple[SQLCompiler, str, tuple[Any, ...]]:
        """The compiler after its work, the SQL, and its parameters."""
        places = [models.Value(_Place(number)) for number in range(len(signature(self._build).parameters))]
        compiler = self._build(*places).query.get_compiler(DEFAULT_DB_ALIAS)
        return compiler, *compiler.as_sql()


class _Place(NamedTuple):
    """Place of a key among the parameters of a compiled query."""

    number: int


@models.Field.register_lookup
class EqualsAny(models.Lookup):
    """Condition that a column equals one of the values of a list. For ``__in``, the SQL depends on their number."""

    lookup_name = "any"

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Return SQL and parameters."""
        lhs, lhs_parameters = self.process_lhs(compiler, connection)
        rhs, rhs_parameters = self.process_rhs(compiler, connection)
        return f"{lhs} = ANY({rhs})", (*lhs_parameters, *rhs_parameters)
