"""Whether the database was migrated for a newer version, of which this process doesn't have the code.

In an update the migrations run first, and the processes are replaced after them.
"""

import datetime as dt
from pathlib import Path

from django.db import DatabaseError, connection

from apps.common.database.restriction import unrestricted

BEGUN = dt.datetime.now(dt.UTC)  # this process, which imports this module before it serves anybody
# Names of migrations when the process began: an update may replace the files under it.
KNOWN = frozenset(path.stem for path in Path(__file__).parents[2].glob("*/migrations/0*.py"))


def was_migrated_since(moment: dt.datetime) -> bool:
    """Return whether a migration that this code lacks was applied after a moment. Return False if nothing says so.

    The moment alone is not enough: clocks of machines differ. Nor are the names: those of squashed ones remain stored.
    The database is asked on another connection, since this one may be in a transaction that an error has ended.
    """
    other = connection.copy()
    try:
        with unrestricted(), other.cursor() as cursor:
            cursor.execute("SELECT name FROM django_migrations WHERE applied > %s", [moment])
            return any(name not in KNOWN for (name,) in cursor.fetchall())
    except DatabaseError:
        return False
    finally:
        other.close()
