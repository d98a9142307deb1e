"""How full the disks are that hold the data folder and the embedded database.

On a full disk ``common.http.disk_space`` refuses writes, and jobs wait (``jobs.turns``). What the database finds no
space for is a DiskFull; ``launcher`` keeps a reserve to start it again.
"""

import shutil
from contextlib import suppress
from enum import StrEnum

from django.conf import settings

MEGABYTE = 1024 * 1024


class DiskState(StrEnum):
    """State of the fuller disk. ``LOW`` is a warning; at ``FULL`` new writes are refused."""

    OK = "ok"
    LOW = "low"
    FULL = "full"


def _free_bytes() -> list[int]:
    """Return what is free where the data folder and the embedded database lie, which may be a link to another disk."""
    folders = [settings.LOCI_HOME]
    if settings.EMBEDDED_DATABASE:
        folders.append(settings.LOCI_HOME / "postgres")
    free = []
    for folder in folders:
        with suppress(FileNotFoundError):  # before the first start
            free.append(shutil.disk_usage(folder).free)
    return free


def free_megabytes() -> int:
    """Return how many megabytes can still be written where least are left."""
    return min(_free_bytes(), default=0) // MEGABYTE


def state_of(free: int) -> DiskState:
    """Return the state for a number of free megabytes."""
    if free < settings.DISK_FULL_MEGABYTES:
        return DiskState.FULL
    return DiskState.LOW if free < settings.DISK_WARNING_MEGABYTES else DiskState.OK


def disk_state() -> DiskState:
    """Return the state of the disks now: two system calls at each write, which take some microseconds."""
    free = _free_bytes()
    return state_of(min(free) // MEGABYTE) if free else DiskState.OK
