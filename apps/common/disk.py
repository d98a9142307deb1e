"""How full the disks are that hold the data folder and the embedded database.

On a full disk ``common.http.disk_space`` refuses writes, and jobs wait (``jobs.turns``). What the database finds no
space for is a DiskFull; ``launcher`` keeps a reserve to start it again.
"""

import shutil
from enum import StrEnum
from pathlib import Path

from django.conf import settings

MEGABYTE = 1024 * 1024


class DiskState(StrEnum):
    """State of the fuller disk. ``LOW`` is a warning; at ``FULL`` new writes are refused."""

    OK = "ok"
    LOW = "low"
    FULL = "full"


def data_folders() -> list[Path]:
    """Return the folders that grow: the data folder and, where it lies elsewhere, the embedded database's."""
    folders = [settings.LOCI_HOME]
    if settings.EMBEDDED_DATABASE:
        folders.append((settings.LOCI_HOME / "postgres").resolve())
    return [folder for folder in folders if folder.exists()]


def free_megabytes() -> int:
    """Return how many megabytes can still be written where least are left."""
    return min((shutil.disk_usage(folder).free for folder in data_folders()), default=0) // MEGABYTE


def state_of(free: int) -> DiskState:
    """Return the state for a number of free megabytes."""
    if free < settings.DISK_FULL_MEGABYTES:
        return DiskState.FULL
    return DiskState.LOW if free < settings.DISK_WARNING_MEGABYTES else DiskState.OK


def disk_state() -> DiskState:
    """Return the state of the disks now: two system calls, which take some microseconds."""
    return state_of(free_megabytes()) if data_folders() else DiskState.OK
