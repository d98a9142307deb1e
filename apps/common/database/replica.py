"""Reads that a replica of the database answers, where ``DATABASE_REPLICA_URL`` names one: searches and exports.

Nobody misses what they have just written: the replica answers once it has replayed all that was committed when the
read began. Where it is behind, down or fails, and within a transaction of the primary, the primary answers.
Row-level security holds on both, since both have connections of ``apps.common.database.postgresql``.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import structlog
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from apps.common.database.errors import is_statement_timeout
from apps.common.metrics import count

REPLICA = "replica"
PAUSES = (0.002, 0.005, 0.01, 0.02, 0.04)  # seconds between looks at how far the replica is
REST = 5.0  # seconds for which a process does not ask a replica that failed or was behind
# What was committed is flushed, unless the server confirms commits before it flushes them.
COMMITTED = """
    SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
    ELSE pg_current_wal_flush_lsn() END
"""
# Null where the server is no replica.
HAS_REPLAYED = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"

T = TypeVar("T")

_source: ContextVar[str] = ContextVar("source_of_reads", default=DEFAULT_DB_ALIAS)
_rests_until = 0.0

log = structlog.get_logger(__name__)


class ReplicaRouter:
    """Router to the replica for queries within ``from_replica``, and to the primary for all others."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return _source.get()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        """Return True: rows are the same wherever they were read."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db != REPLICA


def reading_connection() -> Any:
    """Return the connection for statements that only read: the replica's within ``from_replica``."""
    return connections[_source.get()]


def from_replica(read: Callable[[], T]) -> T:
    """Return what ``read`` returns: from the replica if there is one that may answer, else from the primary.

    If the replica fails meanwhile, ``read`` is called again for the primary, so that it must have no effects. What it
    returns may load more rows later: these come from the primary.
    """
    if not _is_allowed():
        return read()
    if time.monotonic() >= _rests_until:
        try:
            if _has_caught_up():
                with _reading_from(REPLICA):
                    answer = read()
                count("loci_replica_reads_total", answered_by="replica")
                return answer
            _rest("it is behind")
        except (DatabaseError, InterfaceError) as error:
            if is_statement_timeout(error):
                raise  # the primary would take as long
            _rest(str(error))
    count("loci_replica_reads_total", answered_by="primary")
    return read()


def _is_allowed() -> bool:
    """Return whether there is a replica, and no transaction of the primary whose writes are to be seen.

    Within ``from_replica`` the outer call has decided.
    """
    has_replica = REPLICA in connections.settings and _source.get() != REPLICA
    return has_replica and not connections[DEFAULT_DB_ALIAS].in_atomic_block


def _has_caught_up() -> bool:
    """Return whether the replica shows what is committed, after a wait of less than a tenth of a second."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(COMMITTED)
        (position,) = cursor.fetchone()
    if _has_replayed(position):
        return True
    for pause in PAUSES:
        time.sleep(pause)
        if _has_replayed(position):
            return True
    return False


def _has_replayed(position: str) -> bool:
    with connections[REPLICA].cursor() as cursor:
        cursor.execute(HAS_REPLAYED, [position])
        return bool(cursor.fetchone()[0])


@contextmanager
def _reading_from(alias: str) -> Iterator[None]:
    token = _source.set(alias)
    try:
        yield
    finally:
        _source.reset(token)


def _rest(reason: str) -> None:
    """Let the primary answer for some seconds."""
    global _rests_until
    _rests_until = time.monotonic() + REST
    log.warning("replica_not_used", reason=reason, seconds=REST)
    with suppress(DatabaseError, InterfaceError):
        connections[REPLICA].close()
