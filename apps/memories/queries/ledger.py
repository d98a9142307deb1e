"""Read the state ledger."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from django.db.models import Q, QuerySet

from apps.chats.models import Chat
from apps.chats.queries.keys import ChatOrKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import Entity, LedgerEntry


@dataclass
class FieldHistory:
    """A field's current entry, or None if it is cleared, and its earlier entries, newest first."""

    name: str
    current: LedgerEntry | None = None
    before: list[LedgerEntry] = field(default_factory=list)

    @property
    def entries(self) -> list[LedgerEntry]:
        return [self.current, *self.before] if self.current else self.before


@dataclass
class EntityState:
    """The fields of one entity in the ledger."""

    entity: Entity
    fields: list[FieldHistory]

    @property
    def current_values(self) -> dict[str, str]:
        return {field.name: field.current.value for field in self.fields if field.current}

    @property
    def entries(self) -> list[LedgerEntry]:
        """Return the entries of all fields, each field's current one first."""
        return [entry for field in self.fields for entry in field.entries]


def ledger_in(chat: Chat, at: int | None = None) -> list[EntityState]:
    """Return the ledger of a chat with the history of each field.

    ``at`` is a message index: the ledger is returned as it was after that message.
    """
    ordered = LEDGER_ROWS.rows(keys_of(chat), at)
    return [
        EntityState(entity, [_history(name, rows, at) for name, rows in groupby(of_entity, key=lambda row: row.field)])
        for entity, of_entity in groupby(ordered, key=lambda row: row.entity)
    ]


def _rows(chat: ChatOrKeys, at: int | None) -> QuerySet[LedgerEntry]:
    """Return the entries of ``ledger_in`` by entity and field, newest first."""
    own = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat.pk)
    rows: QuerySet[LedgerEntry] = own.exclude(state=LedgerEntry.State.RETIRED)
    if at is not None:
        rows = rows.filter(Q(source=None) | Q(source__index__lte=at))
    return rows.select_related("entity", "source", "until").order_by("entity__kind", "entity__name", "field", "-pk")


LEDGER_ROWS: CompiledQuery[LedgerEntry] = CompiledQuery(_rows)


def _history(name: str, rows: Iterable[LedgerEntry], at: int | None) -> FieldHistory:
    history = FieldHistory(name)
    for row in rows:
        if history.current is None and _is_valid(row, at):
            history.current = row
        else:
            history.before.append(row)
    return history


def _is_valid(row: LedgerEntry, at: int | None) -> bool:
    if at is None or row.until is None:
        return row.state == LedgerEntry.State.CURRENT
    return row.until.index > at
