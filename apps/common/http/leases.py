"""Leases: how many things of a key are under way, counted in the database for all processes together.

Each key has one row with the times up to which its leases hold. Whoever begins takes one, and gives it back at the end.
A process that was killed gives nothing back: its leases end by themselves.
"""

import datetime as dt

from django.db import connection

TAKE = """
    INSERT INTO common_lease AS held (key, ends)
    VALUES (%(key)s, ARRAY[clock_timestamp() + %(seconds)s * interval '1 second'])
    ON CONFLICT (key) DO UPDATE
    SET ends = ARRAY(SELECT lease FROM unnest(held.ends) AS lease WHERE lease > clock_timestamp())
        || (clock_timestamp() + %(seconds)s * interval '1 second')
    WHERE (SELECT count(*) FROM unnest(held.ends) AS lease WHERE lease > clock_timestamp()) < %(limit)s
    RETURNING ends[cardinality(ends)]
"""
GIVE_BACK = "UPDATE common_lease SET ends = array_remove(ends, %(end)s) WHERE key = %(key)s"
DELETE_ENDED = "DELETE FROM common_lease WHERE NOT clock_timestamp() < ANY (ends)"


def take_lease(key: str, limit: int, lifetime: dt.timedelta) -> dt.datetime | None:
    """Take a lease of ``key`` and return when it ends, or None if ``limit`` leases are taken.

    Call it outside of a transaction, which would hold the row.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"key": key, "limit": limit, "seconds": lifetime.total_seconds()})
        row = cursor.fetchone()
    return row[0] if row else None


def give_back_lease(key: str, end: dt.datetime) -> None:
    """Give back the lease of ``key`` that ends then."""
    with connection.cursor() as cursor:
        cursor.execute(GIVE_BACK, {"key": key, "end": end})


def delete_ended_leases() -> None:
    """Delete the rows of keys of which nothing is under way."""
    with connection.cursor() as cursor:
        cursor.execute(DELETE_ENDED)
