"""Keep the embedded database running on a disk that fills, and say so before; trim its log.

Postgres can neither go on nor start without space for its write-ahead log. So a file is kept that can be deleted.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from time import monotonic

INTERVAL = 5.0  # seconds between two looks
MAX_LOG_BYTES = 10 * 1024 * 1024
MEGABYTE = 1024 * 1024
RESERVE_MEGABYTES = 48  # three segments of the write-ahead log: enough to start, to recover and to read
USED_BELOW = 16  # megabytes that are free when the reserve is given up

LOW = "The disk is almost full: {free} MB are left for {home}. Make space, or writes will be refused soon."
ENOUGH = "The disk has space again: {free} MB."
RELEASED = "The disk is full: the reserve of {size} MB is given up, so that the database goes on. Make space."


def disk_check(
    home: Path, least: int, say: Callable[[str], None], free_megabytes: Callable[[], int]
) -> Callable[[], None]:
    """Return a function that says once that fewer megabytes than ``least`` are left, and once that there are enough.

    It also keeps the reserve of the embedded database, if there is one, and trims its log.
    """
    looked_at, is_low = -INTERVAL, False
    folder = (home / "postgres").resolve()

    def check() -> None:
        nonlocal looked_at, is_low
        if monotonic() - looked_at < INTERVAL:
            return
        looked_at = monotonic()
        free = free_megabytes()
        if (free < least) != is_low:
            is_low = not is_low
            say(LOW.format(home=home, free=free) if is_low else ENOUGH.format(free=free))
        if folder.is_dir():
            trim_log(folder / "server.log")
            if free < USED_BELOW and release_reserve(folder):
                say(RELEASED.format(size=RESERVE_MEGABYTES))
            elif free >= least:
                keep_reserve(folder)

    return check


def keep_reserve(folder: Path) -> None:
    """Set space aside in the folder of the cluster. Do nothing where that fails."""
    reserve = folder / "reserve"
    if reserve.exists():
        return
    unfinished = folder / "reserve.new"
    try:
        with unfinished.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_MEGABYTES * MEGABYTE)
        unfinished.rename(reserve)
    except OSError:
        unfinished.unlink(missing_ok=True)


def release_reserve(folder: Path) -> bool:
    """Give the space back. Return whether there was any."""
    try:
        (folder / "reserve").unlink()
    except OSError:
        return False
    return True


def trim_log(log: Path) -> None:
    """Keep the last half of MAX_LOG_BYTES of a log, once it is larger; who appends to it meanwhile may lose a line.

    The server's user owns the folder: what it could have put there in place of the log is not followed.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(log, os.O_RDWR | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "r+b") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size <= MAX_LOG_BYTES:
                return
            file.seek(-MAX_LOG_BYTES // 2, os.SEEK_END)
            file.readline()
            kept = file.read()
            file.seek(0)
            file.write(kept)  # into the same file, which the server has open
            file.truncate()
