"""References between rows after some of them were replaced."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connection, models

from apps.common.scoping import OwnedModel
from apps.snapshots.tables import RELATIONS


@dataclass(frozen=True)
class Reference:
    """A foreign key from a table of owned rows, or a many-to-many table, to one of owned rows."""

    table: str
    column: str
    target: str
    is_nullable: bool
    scope: str  # condition of SQL on the rows of an owner

    @property
    def statement(self) -> str:
        """Return SQL that empties the references to rows that are not there, or deletes what can't be without them."""
        change, then = ("UPDATE", f'SET "{self.column}" = NULL') if self.is_nullable else ("DELETE FROM", "")
        return f"""{change} "{self.table}" r {then} WHERE {self.scope} AND r."{self.column}" IS NOT NULL
            AND NOT EXISTS (SELECT FROM "{self.target}" t WHERE t.id = r."{self.column}" AND t.owner_id = %(owner)s)"""


def references() -> Iterator[Reference]:
    """Return all references between owned rows."""
    for model in apps.get_models(include_auto_created=True):
        scope = _scope(model)
        for field in model._meta.concrete_fields if scope else ():
            target = field.related_model
            if isinstance(field, models.ForeignKey) and isinstance(target, type) and issubclass(target, OwnedModel):
                nullable = field.remote_field.on_delete is models.SET_NULL
                yield Reference(model._meta.db_table, field.column, target._meta.db_table, nullable, scope)


def _scope(model: type[models.Model]) -> str:
    if issubclass(model, OwnedModel):
        return "r.owner_id = %(owner)s"
    if path := RELATIONS.get(model._meta.label):
        field: Any = model._meta.get_field(path.partition("__")[0])
        target = field.related_model._meta.db_table
        return f'r."{field.column}" IN (SELECT id FROM "{target}" WHERE owner_id = %(owner)s)'  # noqa: S608
    return ""


def settle_references(owner_id: UUID) -> None:
    """Settle the owner's references to rows that are not there any more, or belong to another owner.

    What a deletion of the row would have done is done: the reference is emptied, or what refers to it deleted.
    """
    found = list(references())
    with connection.cursor() as cursor:
        settled = True
        while settled:
            settled = False
            for reference in found:
                cursor.execute(reference.statement, {"owner": owner_id})
                settled = settled or cursor.rowcount > 0
