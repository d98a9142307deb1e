"""Use of the pool of database connections."""

from django.db import connection


def release_connection() -> None:
    """Return the connection to the pool before a wait for another server: others may need it meanwhile.

    Within a transaction it is kept, as is one that belongs to no pool: nobody else could use it.
    """
    if not connection.in_atomic_block and connection.settings_dict["OPTIONS"].get("pool"):
        connection.close()
