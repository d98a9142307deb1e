"""A dump of the embedded database before migrations change it, and the way back.

The last KEPT dumps are in ``LOCI_HOME/before-upgrades``. With a database of one's own, backups are one's own too.
"""

import datetime as dt
import subprocess
import tempfile
from pathlib import Path

import psycopg
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.launcher.embedded_postgres import (
    DATABASE,
    PORT,
    ROLE,
    Cluster,
    EmbeddedPostgresError,
    find_or_create,
    socket_folder,
)

KEPT = 2
RESTORED, UPGRADED = f"{DATABASE}_restored", f"{DATABASE}_upgraded"


def is_upgrade() -> bool:
    """Return whether migrations are about to change a database that holds data already."""
    executor = MigrationExecutor(connection)
    applied = executor.loader.applied_migrations
    return bool(applied) and bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def begun(home: Path) -> Path:
    """Return the file that is there from the dump of an upgrade until its last migration: no try makes another dump."""
    return home / "before-upgrades" / "begun"


def dumps(home: Path) -> list[Path]:
    """Return the dumps, oldest first."""
    return sorted((home / "before-upgrades").glob("*.dump"))


def dump(home: Path) -> Path:
    """Write a dump of the database, and delete all but the last KEPT. Raise EmbeddedPostgresError."""
    folder = home / "before-upgrades"
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in folder.glob("*.new"):  # of a dump that was killed
        left.unlink()
    target = folder / f"{dt.datetime.now(dt.UTC):%Y-%m-%d-%H%M%S}.dump"
    unfinished = target.with_suffix(".new")
    try:
        with unfinished.open("wb") as output:
            _run(home, ["pg_dump", "--format=custom", f"--dbname={DATABASE}"], stdout=output)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    for old in dumps(home)[:-KEPT]:
        old.unlink()
    return target


def restore(home: Path, source: Path) -> None:
    """Put the database of a dump in place of the present one, which is kept as UPGRADED until the next time.

    Nothing may use the database meanwhile. Raise EmbeddedPostgresError; then the present one is as it was.
    """
    with _maintenance(home) as server:
        server.execute(f"DROP DATABASE IF EXISTS {RESTORED}")
        server.execute(f"CREATE DATABASE {RESTORED}")
        with source.open("rb") as file:
            _run(home, ["pg_restore", "--exit-on-error", f"--dbname={RESTORED}"], stdin=file)
        server.execute(f"DROP DATABASE IF EXISTS {UPGRADED}")
        with server.transaction():
            server.execute(f"ALTER DATABASE {DATABASE} RENAME TO {UPGRADED}")
            server.execute(f"ALTER DATABASE {RESTORED} RENAME TO {DATABASE}")
    begun(home).unlink(missing_ok=True)


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
