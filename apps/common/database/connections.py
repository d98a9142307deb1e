"""Use of the pools of database connections."""

from django.db import connections


def release_connection() -> None:
    """Return connections to their pools before a wait for another server: others may need them meanwhile.

    Within a transaction one is kept, as is one that belongs to no pool: nobody else could use it.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block and connection.settings_dict["OPTIONS"].get("pool"):
            connection.close()
