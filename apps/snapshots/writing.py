"""Write the rows of an owner into an archive."""

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from django.db import DatabaseError, models, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.database.replica import from_replica, reading_connection
from apps.common.problems import Missing
from apps.common.stored_texts import gettext_stored
from apps.snapshots.archives import Manifest, Writer
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import ONLY, SnapshotScope, Table

FETCHED_ROWS = 500


class MomentLost(Exception):
    """No transaction sees the rows of a moment any more."""


def write_archive(
    scope: SnapshotScope,
    file: BinaryIO,
    on_progress: Callable[[int], None] = lambda rows: None,
    at: dt.datetime | None = None,
) -> Manifest:
    """Write an archive and return its manifest. ``on_progress`` receives the number of rows written so far.

    The manifest names the time ``at``, or now. The rows are those of one moment only within a transaction that has a
    snapshot of its own (repeatable read), or that holds the locks of what is written.
    """
    user = User.objects.get(pk=scope.owner_id)
    written = 0
    with Writer(file) as writer:
        for table in scope.tables:
            written += writer.write_table(table.label, _reported(lines_of(table), written, on_progress))
        return writer.write_manifest(
            kind=scope.kind,
            owner=scope.owner_id,
            chat=scope.chat_id,
            title=title_of(scope),
            created_at=(at or timezone.now()).isoformat(),
            profile=_profile_of(user) if scope.kind == Snapshot.Kind.ACCOUNT else {},
        )


def write_archive_of_one_moment(
    scope: SnapshotScope, file: BinaryIO, on_progress: Callable[[int, int], None] = lambda rows, total: None
) -> Manifest:
    """Write an archive of the present in a transaction of its own, which a replica of the database may give.

    ``on_progress`` receives the number of rows written so far, and that of all. Raise Missing if the chat is gone.
    """
    return from_replica(lambda: _write_in_transaction(scope, file, on_progress))


def write_archive_of_moment(
    scope: SnapshotScope, file: BinaryIO, on_progress: Callable[[int, int], None], moment: str, at: dt.datetime
) -> Manifest:
    """Write an archive of what ``moment`` shows, the name of a ``Moment`` at the time ``at``. Raise MomentLost."""
    return _write_in_transaction(scope, file, on_progress, moment, at)


def _write_in_transaction(
    scope: SnapshotScope,
    file: BinaryIO,
    on_progress: Callable[[int, int], None],
    moment: str = "",
    at: dt.datetime | None = None,
) -> Manifest:
    connection = reading_connection()
    file.seek(0)
    file.truncate()
    with transaction.atomic(using=connection.alias):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if moment:
                _see(moment, cursor)
        if scope.chat_id and not Table("chats.Chat", scope).rows.exists():
            raise Missing(gettext_stored("There is no such chat."))
        total = count_rows(scope)
        return write_archive(scope, file, lambda rows: on_progress(rows, total), at)


def _see(moment: str, cursor: Any) -> None:
    try:
        cursor.execute("SET TRANSACTION SNAPSHOT %s", [moment])
    except DatabaseError as error:
        raise MomentLost(moment) from error


def _profile_of(user: User) -> dict[str, str]:
    return {"name": user.name, "time_zone": user.time_zone, "language": user.language}


def _reported(lines: Iterator[str], written: int, on_progress: Callable[[int], None]) -> Iterator[str]:
    for number, line in enumerate(lines, written + 1):
        yield line
        if not number % FETCHED_ROWS:
            on_progress(number)


def title_of(scope: SnapshotScope) -> str:
    """Return the title of the chat, or an empty string."""
    if scope.chat_id is None:
        return ""
    chats: models.QuerySet[Chat] = Chat._base_manager.filter(owner_id=scope.owner_id, pk=scope.chat_id)
    return chats.values_list("title", flat=True).first() or ""


def count_rows(scope: SnapshotScope) -> int:
    """Return the number of rows that an archive will hold."""
    return sum(archived_rows(table).count() for table in scope.tables)


def archived_rows(table: Table) -> models.QuerySet[models.Model]:
    """Return the rows of a table that an archive holds."""
    rows: models.QuerySet[models.Model] = table.rows
    return rows.filter(ONLY[table.label]) if table.label in ONLY else rows


def lines_of(table: Table) -> Iterator[str]:
    """Return the rows of a table as JSON objects, made by the database, in the order of their keys."""
    ids, parameters = archived_rows(table).order_by().values("pk").query.sql_with_params()
    columns = ", ".join(f't."{field.column}"' for field in table.fields)
    sql = f"""SELECT row_to_json(r)::text FROM (
        SELECT {columns} FROM {table.name} t WHERE t.id IN ({ids}) ORDER BY t.id) r"""  # noqa: S608
    # A cursor of the server: the rows of an account need not fit into memory.
    with reading_connection().chunked_cursor() as cursor:
        cursor.execute(sql, parameters)
        for (line,) in chain.from_iterable(iter(lambda: cursor.fetchmany(FETCHED_ROWS), [])):
            # Outside of strings, where JSON has none, a `json` column may hold line breaks.
            yield line.replace("\n", " ")
