"""A dump of the embedded database before migrations change it, and the way back.

The last KEPT dumps are in ``LOCI_HOME/before-upgrades``; all but the last go after KEPT_DAYS. With a database of one's
own, backups are one's own too.

Beside each dump is its SHA-256, as `sha256sum` writes and checks it. Postgres refuses what was cut off within its data,
but not what has lost the copy of its table of contents that stands at the end, or has a changed name.
"""

import contextlib
import datetime as dt
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from apps.launcher.disk import MEGABYTE
from apps.launcher.postgres_cluster import DATABASE, PORT, ROLE, Cluster, find_or_create, socket_folder
from apps.launcher.postgres_programs import EmbeddedPostgresError

RESTRICTED = "loci_restricted"  # the role of apps.common.database.restriction, which policies of tables name
KEPT, KEPT_DAYS = 2, 30
FORMER_TRY_HOURS = 1
RESTORED, UPGRADED = f"{DATABASE}_restored", f"{DATABASE}_upgraded"

NO_SPACE_TO_UPGRADE = (
    "The upgrade needs up to {size} MB for a copy of the data, and {free} MB are free."
    " Nothing was changed: make space, or go on with the former version."
)
NO_SPACE_TO_RESTORE = (
    "The way back needs up to {size} MB for a second copy of the data, and {free} MB are free: make space."
)


def is_upgrade() -> bool:
    """Return whether migrations are about to change a database that holds data already."""
    executor = MigrationExecutor(connection)
    applied = executor.loader.applied_migrations
    return bool(applied) and bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def begun(home: Path) -> Path:
    """Return the file that is there from the dump of an upgrade until its last migration: no try makes another dump."""
    return home / "before-upgrades" / "begun"


def has_dump_of_former_try(home: Path) -> bool:
    """Return whether the dump of this upgrade was made when it was tried before, so that none is to be made now.

    If nothing was migrated then, and that is longer ago than FORMER_TRY_HOURS, the former version may have been used
    since: the dump would lack what was written.
    """
    if not begun(home).exists() or not dumps(home):
        return False
    noted = dt.datetime.fromtimestamp(begun(home).stat().st_mtime, dt.UTC)
    if noted > dt.datetime.now(dt.UTC) - dt.timedelta(hours=FORMER_TRY_HOURS):
        return True
    return bool(MigrationRecorder(connection).migration_qs.filter(applied__gt=noted).exists())


def dumps(home: Path) -> list[Path]:
    """Return the dumps, oldest first."""
    return sorted((home / "before-upgrades").glob("*.dump"))


def dump(home: Path) -> Path:
    """Write a dump of the database, and delete older ones. Raise EmbeddedPostgresError, also if there is no space."""
    folder = home / "before-upgrades"
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(home)
    for left in (*folder.glob("*.new"), *filter(_has_no_dump, folder.glob("*.sha256"))):  # of a dump that was killed
        left.unlink()
    with _maintenance(home) as server:
        # What a former way back has replaced, and what one that was killed has left
        for left_over in (UPGRADED, RESTORED):
            server.execute(f"DROP DATABASE IF EXISTS {left_over}")
        size = _size(server)
    refuse_without_space(folder, size, NO_SPACE_TO_UPGRADE)
    target = folder / f"{dt.datetime.now(dt.UTC):%Y-%m-%d-%H%M%S}.dump"
    unfinished = target.with_suffix(".new")
    try:
        with unfinished.open("wb") as output:
            _run(home, ["pg_dump", "--format=custom", f"--dbname={DATABASE}"], stdout=output)
            os.fsync(output.fileno())
        write_digest(target, digest_of(unfinished))
        unfinished.rename(target)
        sync_folder(folder)
    finally:
        unfinished.unlink(missing_ok=True)
    trim_dumps(home)
    return target


def digest_file(source: Path) -> Path:
    """Return the file that has the SHA-256 of a dump."""
    return source.with_name(f"{source.name}.sha256")


def digest_of(source: Path) -> str:
    """Return the SHA-256 of a file."""
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_digest(source: Path, digest: str) -> None:
    """Write the SHA-256 of a dump to a file next to it, and flush that file to the disk."""
    with digest_file(source).open("w") as output:
        output.write(f"{digest}  {source.name}\n")
        output.flush()
        os.fsync(output.fileno())


def refuse_if_damaged(source: Path) -> None:
    """Raise EmbeddedPostgresError if a dump is not as it was written. Of those of earlier versions nothing is known."""
    try:
        written, _, _ = digest_file(source).read_text().partition(" ")
    except FileNotFoundError:
        return
    if written != digest_of(source):
        raise EmbeddedPostgresError(f"{source.name} was cut off or changed since it was written: use another dump.")


def _has_no_dump(digest: Path) -> bool:
    return not digest.with_suffix("").exists()


def note_begun(home: Path) -> None:
    """Note that the dump of an upgrade is made. Without it, a start after a power cut would dump half-migrated data."""
    begun(home).touch()
    sync_folder(begun(home).parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names of a folder's files: fsync of a file alone doesn't keep them in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_without_space(folder: Path, size: int, message: str) -> None:
    """Raise EmbeddedPostgresError with ``message`` if the disk has less free space than the database takes.

    A dump never exceeds it, and what it held before an upgrade hardly does. A migration that rewrites tables takes as
    much again.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        raise EmbeddedPostgresError(message.format(size=size // MEGABYTE, free=free // MEGABYTE))


def trim_dumps(home: Path) -> None:
    """Delete all but the last KEPT dumps, and all but the last one once they are older than KEPT_DAYS."""
    all_dumps, oldest = dumps(home), time.time() - KEPT_DAYS * 86_400
    for old in all_dumps[:-1]:
        if old in all_dumps[:-KEPT] or old.stat().st_mtime < oldest:
            old.unlink()
            digest_file(old).unlink(missing_ok=True)


def restore(home: Path, source: Path) -> None:
    """Put the database of a dump in place of the present one, which is kept as UPGRADED until the next time.

    Nothing may use the database meanwhile. Raise EmbeddedPostgresError; then the present one is as it was.
    """
    refuse_if_damaged(source)
    with _maintenance(home) as server:
        server.execute(f"DROP DATABASE IF EXISTS {RESTORED}")  # of a way back that was killed
        refuse_without_space((home / "postgres").resolve(), _size(server), NO_SPACE_TO_RESTORE)
        if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [RESTRICTED]).fetchone():
            server.execute(f"CREATE ROLE {RESTRICTED} NOLOGIN")  # of the server, so that a dump doesn't have it
        try:
            server.execute(f"CREATE DATABASE {RESTORED}")
            with source.open("rb") as file:
                _run(home, ["pg_restore", "--exit-on-error", f"--dbname={RESTORED}"], stdin=file)
            server.execute(f"DROP DATABASE IF EXISTS {UPGRADED}")
            with server.transaction():
                server.execute(f"ALTER DATABASE {DATABASE} RENAME TO {UPGRADED}")
                server.execute(f"ALTER DATABASE {RESTORED} RENAME TO {DATABASE}")
        except BaseException as error:
            with contextlib.suppress(psycopg.Error):  # a server that is away says so by the first error
                server.execute(f"DROP DATABASE IF EXISTS {RESTORED} WITH (FORCE)")
            if isinstance(error, psycopg.Error):
                raise EmbeddedPostgresError(str(error)) from error
            raise
    begun(home).unlink(missing_ok=True)


def _size(server: "psycopg.Connection[tuple[object, ...]]") -> int:
    [size] = server.execute("SELECT pg_database_size(%s)", [DATABASE]).fetchone() or [0]
    return int(str(size))


def _maintenance(home: Path) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(host=str(socket_folder(home)), port=PORT, user=ROLE, dbname="postgres", autocommit=True)


def _run(home: Path, command: list[str], **streams: object) -> None:
    """Run a program of Postgres on the server of ``home`` as its user. Raise EmbeddedPostgresError."""
    cluster: Cluster = find_or_create(home, durable=True)
    program, *arguments = command
    server = [f"--host={socket_folder(home)}", f"--port={PORT}", f"--username={ROLE}"]
    with tempfile.TemporaryFile("w+") as errors:
        options = {"stdin": subprocess.DEVNULL, **streams, "stderr": errors, **cluster.user.subprocess_options}
        done = subprocess.run([cluster.programs / program, *server, *arguments], cwd="/", check=False, **options)  # noqa: S603
        if done.returncode:
            errors.seek(0)
            raise EmbeddedPostgresError(f"{program}: {errors.read().strip()}")
