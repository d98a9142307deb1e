"""What an installation uses now: memory by process, disk by purpose, and what waits in the queues."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from apps.launcher import embedded_postgres, postgres_cluster
from apps.launcher.postgres_programs import EmbeddedPostgresError

OWN_PROGRAMS = ("manage.py", "gunicorn", "celery", "config.one_worker", "loci")
LARGEST = 8  # tables that are named
TABLES = """
    SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0)::bigint FROM pg_class
    WHERE relkind = 'r' AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
    ORDER BY 2 DESC LIMIT %s
"""


@dataclass(frozen=True)
class Program:
    """Processes of one program, and the memory that they have; what processes share is divided among them."""

    name: str
    processes: int
    bytes: int


@dataclass(frozen=True)
class DiskPart:
    """Something that takes space on the disk."""

    name: str
    where: str
    bytes: int


@dataclass(frozen=True)
class Disk:
    """A disk that holds data of the installation."""

    folder: str
    size: int
    free: int

    @property
    def used_share(self) -> int:
        """Return how full the disk is, in percent."""
        return round(100 * (1 - self.free / self.size)) if self.size else 0


@dataclass(frozen=True)
class Waiting:
    """What waits in a queue, and for how long the oldest of it has."""

    queue: str
    messages: int
    oldest_seconds: int


@dataclass(frozen=True)
class Table:
    """A large table of the database. The number of rows is an estimate."""

    name: str
    bytes: int
    rows: int


def programs() -> list[Program]:
    """Return the programs of this installation that run on this machine, the largest first."""
    found: dict[str, list[int]] = {}
    for process in _processes():
        with suppress(psutil.Error):
            found.setdefault(_program_name(process), []).append(_memory(process))
    return sorted(
        (Program(name, len(sizes), sum(sizes)) for name, sizes in found.items()), key=lambda each: -each.bytes
    )


def _processes() -> Iterator[psutil.Process]:
    """Yield the processes below the highest one that is Loci's, and those of the embedded database."""
    root = psutil.Process()
    for parent in root.parents():
        with suppress(psutil.Error):
            if not any(name in part for part in parent.cmdline() for name in OWN_PROGRAMS) or parent.pid == 1:
                break
            root = parent
    roots = [root]
    if settings.EMBEDDED_DATABASE:
        with suppress(EmbeddedPostgresError, OSError):
            server = embedded_postgres.postmaster(postgres_cluster.cluster_of(settings.LOCI_HOME))
            roots += [server] if server else []
    for each in roots:
        with suppress(psutil.Error):
            yield from [each, *each.children(recursive=True)]


def _program_name(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    if "gunicorn" in words:
        return _("Web server")
    if "celery" in words or "one_worker" in words:
        return _("Workers and scheduler")
    return _("Database") if "postgres" in process.name() else _("Supervisor and commands")


def _memory(process: psutil.Process) -> int:
    """Return a process's share of memory, or its resident memory where the system doesn't tell the share."""
    try:
        return int(process.memory_full_info().pss)
    except (psutil.AccessDenied, AttributeError):
        return int(process.memory_info().rss)


def disks() -> list[Disk]:
    """Return the disks of the data folder and of the embedded database."""
    folders = {settings.LOCI_HOME}
    if settings.EMBEDDED_DATABASE:
        folders.add((settings.LOCI_HOME / "postgres").resolve())
    found: dict[int, Disk] = {}
    for folder in sorted(folders):
        with suppress(OSError):
            usage = psutil.disk_usage(str(folder))
            found.setdefault(os.stat(folder).st_dev, Disk(str(folder), usage.total, usage.free))
    return list(found.values())


def parts() -> list[DiskPart]:
    """Return what takes the space, the largest first."""
    home: Path = settings.LOCI_HOME
    cluster = (home / "postgres").resolve()
    found = [
        DiskPart(_("Database"), connection.settings_dict["NAME"], database_bytes()),
        DiskPart(_("Snapshots and files of imports"), str(home / "media"), folder_bytes([home / "media"])),
        DiskPart(
            _("Dumps from before upgrades"), str(home / "before-upgrades"), folder_bytes([home / "before-upgrades"])
        ),
        DiskPart(_("Static files"), str(home / "static"), folder_bytes([home / "static"])),
    ]
    if settings.EMBEDDED_DATABASE:
        log, reserve = cluster / "server.log", cluster / "reserve"
        found += [
            DiskPart(_("The database's write-ahead log"), "pg_wal", write_ahead_bytes()),
            DiskPart(_("The database's log"), str(log), folder_bytes([log])),
            DiskPart(_("Reserve for a full disk"), str(reserve), folder_bytes([reserve])),
        ]
    return sorted((part for part in found if part.bytes), key=lambda part: -part.bytes)


def folder_bytes(paths: Iterable[Path | str]) -> int:
    """Return the space that files take below these paths; those that can't be read count nothing."""
    total = 0
    for path in paths:
        with suppress(OSError):
            if os.path.isfile(path):
                total += os.stat(path).st_blocks * 512
            else:
                with os.scandir(path) as entries:
                    total += sum(
                        folder_bytes([each.path])
                        if each.is_dir(follow_symlinks=False)
                        else each.stat(follow_symlinks=False).st_blocks * 512
                        for each in entries
                    )
    return total


def database_bytes() -> int:
    """Return the size of the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def write_ahead_bytes() -> int:
    """Return the size of the write-ahead log of the embedded server, whose superuser we are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(size), 0) FROM pg_ls_waldir()")
        return int(cursor.fetchone()[0])


def largest_tables() -> list[Table]:
    """Return the largest tables with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES, [LARGEST])
        return [Table(*row) for row in cursor.fetchall()]


def waiting() -> list[Waiting] | None:
    """Return what waits in each queue; None where the broker is another program, which has a page of its own."""
    if not settings.BROKER_IN_DATABASE:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT queue_name, queue_length, oldest_msg_age_sec FROM pgmq.metrics_all() ORDER BY 1")
        return [Waiting(queue, length, age or 0) for queue, length, age in cursor.fetchall()]
