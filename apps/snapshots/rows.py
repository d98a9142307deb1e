"""Insert the rows of an archive into their tables, and delete those that they replace."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import connection, models

from apps.snapshots.archives import damaged
from apps.snapshots.tables import UPDATED_IN_PLACE, Table

BATCH_ROWS, BATCH_CHARACTERS = 1000, 4_000_000


def delete_rows(rows: models.QuerySet[Any]) -> None:
    """Delete rows, and nothing that refers to them: references are settled once all rows are there."""
    ids, parameters = rows.order_by().values("pk").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{rows.model._meta.db_table}" WHERE id IN ({ids})', parameters)  # noqa: S608


def insert_rows(table: Table, lines: Iterable[str]) -> Iterator[list[UUID]]:
    """Insert rows given as JSON objects for the owner of the scope, and return the ids of each batch of them.

    Columns that a row doesn't name get their default, and names of columns that don't exist are ignored. Rows that are
    there already are overwritten if the table's rows are updated in place, and kept if it keeps them.
    """
    lines = iter(lines)
    first = next(lines, None)
    if first is None:
        return
    missing = [field for field in table.model._meta.concrete_fields if field.column not in _object(first, table)]
    missing = [field for field in missing if table.is_owned or not field.primary_key]
    sql = _statement(table)
    with connection.cursor() as cursor:
        for batch in _batches(chain([first], lines)):
            rows = [_with_defaults(line, missing, table) for line in batch] if missing else batch
            cursor.execute(sql, {"rows": f"[{','.join(rows)}]", "owner": table.scope.owner_id})
            yield [pk for (pk,) in cursor]


def _statement(table: Table) -> str:
    fields = [f for f in table.model._meta.concrete_fields if table.is_owned or not f.primary_key]
    columns = [f'"{field.column}"' for field in fields]
    values = ["%(owner)s" if table.is_owned and field.name == "owner" else f'"{field.column}"' for field in fields]
    sql = f"""INSERT INTO {table.name} ({", ".join(columns)}) SELECT {", ".join(values)}
        FROM json_populate_recordset(NULL::{table.name}, %(rows)s::json)"""  # noqa: S608
    if table.is_kept:
        sql += " ON CONFLICT DO NOTHING"
    elif table.is_updated_in_place:
        changes = ", ".join(f"{column} = EXCLUDED.{column}" for column in columns)
        sql += f""" ON CONFLICT ({UPDATED_IN_PLACE[table.label]}) DO UPDATE SET {changes}
            WHERE {table.name}.owner_id = EXCLUDED.owner_id"""
    return f"{sql} RETURNING id"


def _with_defaults(line: str, missing: "list[models.Field[Any, Any]]", table: Table) -> str:
    """Return the row with the defaults of columns that it doesn't name."""
    row = _object(line, table)
    for field in missing:
        value = field.get_db_prep_save(field.get_default(), connection)
        row[str(field.column)] = f"\\x{bytes(value).hex()}" if isinstance(value, bytes | memoryview) else value
    return json.dumps(row, default=_jsonable)


def _jsonable(value: Any) -> Any:
    return value.obj if hasattr(value, "obj") else str(value)  # psycopg's wrapper of JSON, or a date, UUID or number


def _object(line: str, table: Table) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise damaged(f"The snapshot is damaged: a row of {table.label} is not JSON.") from error
    if not isinstance(row, dict):
        raise damaged(f"The snapshot is damaged: a row of {table.label} is not an object.")
    return row


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == BATCH_ROWS or size + len(line) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch
