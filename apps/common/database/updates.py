"""Whether the database was migrated for a newer version, of which this process doesn't have the code.

In an update the migrations run first, and the processes are replaced after them.
"""

import datetime as dt

from django.db import DatabaseError, connection

from apps.common.database.restriction import unrestricted

BEGUN = dt.datetime.now(dt.UTC)  # this process, which imports this module before it serves anybody


def was_migrated_since(moment: dt.datetime) -> bool:
    """Return whether a migration was applied after a moment. Return False if the database doesn't say.

    It is asked on another connection, since this one may be in a transaction that an error has ended.
    """
    other = connection.copy()
    try:
        with unrestricted(), other.cursor() as cursor:
            cursor.execute("SELECT coalesce(max(applied) > %s, false) FROM django_migrations", [moment])
            return bool(cursor.fetchone()[0])
    except DatabaseError:
        return False
    finally:
        other.close()
