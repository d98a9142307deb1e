"""Use of the pools of database connections."""

from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

T = TypeVar("T")


async def in_database(work: Callable[..., T], *args: Any, thread_sensitive: bool = True) -> T:
    """Run work that uses the database from async code, and release its connections: streams must not hold any."""
    return await sync_to_async(_run_and_release, thread_sensitive=thread_sensitive)(work, *args)


def _run_and_release(work: Callable[..., T], *args: Any) -> T:
    try:
        return work(*args)
    finally:
        connections.close_all()


def release_connection() -> None:
    """Return connections to their pools before a wait for another server: others may need them meanwhile.

    Within a transaction one is kept, as is one that belongs to no pool: nobody else could use it.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block and connection.settings_dict["OPTIONS"].get("pool"):
            connection.close()
