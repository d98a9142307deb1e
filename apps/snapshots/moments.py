"""The moment at which a snapshot of an account was asked for, kept until a worker has written it.

A transaction of the process that was asked exports what it sees; the worker's transaction sees the same.
A snapshot of a chat needs none: the request writes it.
"""

import time
from contextlib import suppress
from threading import BoundedSemaphore, Thread
from typing import Any, Self
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection

from apps.common.scoping import system_scope
from apps.snapshots.models import Snapshot

MAX_KEPT = 2  # moments of a process at a time: each holds a connection
KEPT_SECONDS = 900  # in which a worker has to begin; meanwhile the database removes no row that the moment shows
PAUSE = 0.5  # seconds between looks at whether the snapshot is made

_places = BoundedSemaphore(MAX_KEPT)


class Moment:
    """A transaction, on a connection of its own, that sees the rows of the moment at which it began.

    ``name`` is the one under which Postgres lets other transactions see them. Create it by ``now``.
    """

    def __init__(self) -> None:
        self._connection: Any = connection.copy()
        # Not one of the pool: requests would lack it for minutes, and a pool of one would wait for itself.
        self._connection.settings_dict["OPTIONS"].pop("pool", None)
        self._connection.inc_thread_sharing()  # it ends in another thread
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{2 * KEPT_SECONDS}s'")
                cursor.execute("SELECT pg_export_snapshot()")
                (self.name,) = cursor.fetchone()
        except BaseException:
            self.release()
            raise

    @classmethod
    def now(cls) -> Self | None:
        """Return the present moment, or None if this process keeps as many as it may."""
        return cls() if _places.acquire(blocking=False) else None

    def keep_for(self, snapshot_id: UUID) -> None:
        """Keep the moment in the background until the snapshot is made, or KEPT_SECONDS have passed."""
        Thread(target=self._keep, args=[snapshot_id], name="snapshot-moment", daemon=True).start()

    def _keep(self, snapshot_id: UUID) -> None:
        ends = time.monotonic() + KEPT_SECONDS
        try:
            with suppress(DatabaseError, InterfaceError), system_scope():
                while Snapshot.objects.active().filter(pk=snapshot_id).exists() and time.monotonic() < ends:
                    time.sleep(PAUSE)
        finally:
            connection.close()
            self.release()

    def release(self) -> None:
        """End the transaction. Snapshots that have begun to use it see the moment on."""
        if self._connection is None:
            return
        ended, self._connection = self._connection, None
        _places.release()
        with suppress(DatabaseError, InterfaceError):
            if ended.connection is not None:
                ended.connection.rollback()
            ended.close()

    def __del__(self) -> None:
        self.release()  # the request's transaction was rolled back, so that nobody keeps it
