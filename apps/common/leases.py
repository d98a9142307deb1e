"""Leases: who holds a key, and until when; counted in the database for all processes together.

A holder takes a lease of a key, renews it, and releases it at the end. A process that was killed releases nothing: its
leases expire. Whoever may have been held up asks ``renew`` before it goes on: once a lease has expired, it is lost.

Each key has one row, with its holders in the order in which they took it. The count and the change are one statement
that locks this row. With one row for each holder, two of them could take the last place at once: neither would see
the row of the other.

Call these functions outside of transactions, which would hold the row. The claims of jobs and of calls in the browser
are columns of their rows instead (``common.jobs``, ``llm.browser.calls``): they change together with the state.
"""

import datetime as dt
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection

TAKE = """
    INSERT INTO common_lease AS lease (key, holders, ends)
    VALUES (%(key)s, ARRAY[%(holder)s::uuid], ARRAY[clock_timestamp() + %(lifetime)s::interval])
    ON CONFLICT (key) DO UPDATE SET (holders, ends) = (
        SELECT array_agg(holder ORDER BY place), array_agg(until ORDER BY place)
        FROM (
            SELECT * FROM unnest(lease.holders, lease.ends) WITH ORDINALITY AS held (holder, until, place)
            WHERE until > clock_timestamp() AND holder <> %(holder)s
            UNION ALL
            SELECT %(holder)s::uuid, clock_timestamp() + %(lifetime)s::interval, CASE
                WHEN %(holder)s = ANY (lease.holders) THEN array_position(lease.holders, %(holder)s)
                WHEN %(first)s THEN 0
                ELSE cardinality(lease.holders) + 1
            END
        ) AS held
    )
    WHERE %(limit)s::int IS NULL OR %(limit)s > (
        SELECT count(*) FROM unnest(lease.holders, lease.ends) AS held (holder, until)
        WHERE until > clock_timestamp() AND holder <> %(holder)s
    )
    RETURNING array_position(holders, %(holder)s) - 1
"""
RENEW = """
    UPDATE common_lease SET ends[array_position(holders, %(holder)s)] = clock_timestamp() + %(lifetime)s::interval
    WHERE key = %(key)s AND ends[array_position(holders, %(holder)s)] > clock_timestamp()
"""
RELEASE = """
    UPDATE common_lease SET holders = array_remove(holders, %(holder)s),
        ends = ends[:array_position(holders, %(holder)s) - 1] || ends[array_position(holders, %(holder)s) + 1:]
    WHERE key = %(key)s AND %(holder)s = ANY (holders)
"""
HOLDERS = """
    SELECT holder FROM common_lease, unnest(holders, ends) WITH ORDINALITY AS held (holder, until, place)
    WHERE key = %(key)s AND until > clock_timestamp() ORDER BY place
"""
DELETE_EXPIRED = "DELETE FROM common_lease WHERE NOT clock_timestamp() < ANY (ends)"


def take(key: str, holder: UUID, lifetime: dt.timedelta, *, limit: int | None = 1, first: bool = False) -> int | None:
    """Take a lease of ``key``, or renew the one that the holder has. Return how many holders come before this one.

    Return None if ``limit`` others hold it. ``first`` puts a new holder before those who hold it already.
    """
    parameters: dict[str, Any] = {
        "key": key,
        "holder": holder,
        "lifetime": lifetime,
        "limit": limit,
        "first": first,
    }
    with connection.cursor() as cursor:
        cursor.execute(TAKE, parameters)
        row = cursor.fetchone()
    return row[0] if row else None


def renew(key: str, holder: UUID, lifetime: dt.timedelta) -> bool:
    """Renew a lease. Return False if it is lost: it has expired, or was released."""
    return bool(_execute(RENEW, {"key": key, "holder": holder, "lifetime": lifetime}))


def release(key: str, holder: UUID) -> None:
    """Release a lease. Do nothing if it is lost."""
    _execute(RELEASE, {"key": key, "holder": holder})


def holders(key: str) -> list[UUID]:
    """Return who holds ``key``, in order."""
    with connection.cursor() as cursor:
        cursor.execute(HOLDERS, {"key": key})
        return [holder for (holder,) in cursor.fetchall()]


def delete(keys: Iterable[str]) -> None:
    """Delete all leases of the keys."""
    _execute("DELETE FROM common_lease WHERE key = ANY (%(keys)s)", {"keys": list(keys)})


def delete_expired() -> None:
    """Delete the rows of keys that nobody holds."""
    _execute(DELETE_EXPIRED, {})


def _execute(statement: str, parameters: dict[str, Any]) -> int:
    """Return how many rows the statement changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.rowcount
