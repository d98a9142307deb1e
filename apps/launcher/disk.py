"""How full the disk of the data folder is: a line says so before Postgres can write no more."""

import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic

INTERVAL = 60.0  # seconds between two looks
MAX_LOG_BYTES = 10 * 1024 * 1024
MEGABYTE = 1024 * 1024


def free_megabytes(folder: Path) -> int:
    """Return how many megabytes can still be written to the disk of a folder."""
    return shutil.disk_usage(folder).free // MEGABYTE


def disk_check(home: Path, least: int, say: Callable[[str], None]) -> Callable[[], None]:
    """Return a function that says once that fewer megabytes than ``least`` are left, and once that there are enough."""
    looked_at, is_low = -INTERVAL, False

    def check() -> None:
        nonlocal looked_at, is_low
        if monotonic() - looked_at < INTERVAL:
            return
        looked_at = monotonic()
        free = free_megabytes(home)
        if (free < least) != is_low:
            is_low = not is_low
            say(LOW.format(home=home, free=free) if is_low else ENOUGH.format(free=free))

    return check


LOW = "The disk is almost full: {free} MB are left for {home}. Make space, or writes will fail soon."
ENOUGH = "The disk has space again: {free} MB."


def trim_log(log: Path) -> None:
    """Keep the last half of MAX_LOG_BYTES of a log that nobody writes to, once it is larger."""
    if log.is_file() and log.stat().st_size > MAX_LOG_BYTES:
        with log.open("rb") as file:
            file.seek(-MAX_LOG_BYTES // 2, 2)
            file.readline()
            kept = file.read()
        log.write_bytes(kept)  # into the same file, which keeps its owner
