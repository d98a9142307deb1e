"""Embedded Postgres with pgvector, which runs while at least one process uses it.

Each process that uses the server holds a shared lock on a file; the last to release it stops the server. The kernel
releases the lock of a killed process.
"""

import contextlib
import fcntl
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg

from apps.launcher.disk import MEGABYTE, release_reserve, trim_log
from apps.launcher.postgres_cluster import (
    DATABASE,
    PORT,
    ROLE,
    Cluster,
    cluster_of,
    execute,
    find_or_create,
    make_socket_folder,
    prepare_home,
    socket_folder,
)
from apps.launcher.postgres_programs import EmbeddedPostgresError

START_TIMEOUT = 120  # seconds, which recovery after a crash may need
STOP_TIMEOUT = 60  # seconds
NEEDED_TO_START = 32 * MEGABYTE  # two segments of the write-ahead log
# Of a small machine, the log takes less than its default of a gigabyte, and what was deleted is found sooner.
SETTINGS = {
    "max_wal_size": "256MB",
    "autovacuum_naptime": "30s",
    "autovacuum_vacuum_scale_factor": "0.1",
    "autovacuum_vacuum_insert_scale_factor": "0.1",
    "autovacuum_analyze_scale_factor": "0.05",
}
# Tests give up durability for speed, and share one server among many processes.
TEST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"}


@contextlib.contextmanager
def running(home: Path | None, *, durable: bool = True) -> Iterator[None]:
    """Keep the server of the data folder ``home`` running inside the block; do nothing if it is None.

    ``durable=False``, for tests, is faster but can lose data in a power cut.
    """
    if home is None:
        yield
        return
    prepare_home(home)
    with (home / "postgres.users").open("w") as users_lock:
        cluster = acquire(home, users_lock.fileno(), durable)
        try:
            yield
        finally:
            release(cluster, users_lock.fileno())


def acquire(home: Path, lock_fd: int, durable: bool) -> Cluster:
    """Start the server if it is down, and take a shared lock on the file descriptor ``lock_fd``."""
    with start_stop_lock(home):
        try:
            cluster = find_or_create(home, durable)
            if not is_up(cluster):
                start(cluster, durable)
        except OSError as error:
            raise EmbeddedPostgresError(f"{error.strerror}: {error.filename}") from error
        create_database(home)
        fcntl.flock(lock_fd, fcntl.LOCK_SH)
    return cluster


def release(cluster: Cluster, lock_fd: int) -> None:
    """Stop the server if no other process holds the lock."""
    with start_stop_lock(cluster.home), contextlib.suppress(BlockingIOError):
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stop(cluster)


def restart_if_down(home: Path) -> bool:
    """Start the server again if it was killed or ran out of space. Return False if there is none to start with.

    The caller must be inside ``running``. Raise EmbeddedPostgresError if it doesn't start although there is space.
    """
    cluster = cluster_of(home)
    if is_up(cluster):
        return True
    with start_stop_lock(home):
        # Another command may have started it meanwhile, and `start` would take its locks away.
        if is_up(cluster):
            return True
        try:
            start(find_or_create(home, durable=True), durable=True)
        except (EmbeddedPostgresError, OSError):
            if not lacks_space(cluster):
                raise
            return False
    return True


def is_up_in(home: Path) -> bool:
    """Return whether the server of the data folder ``home`` is running."""
    return is_up(cluster_of(home))


def lacks_space(cluster: Cluster) -> bool:
    """Return whether the disk has less free space than the server needs to start."""
    return shutil.disk_usage(cluster.folder).free < NEEDED_TO_START


@contextlib.contextmanager
def start_stop_lock(home: Path) -> Iterator[None]:
    """Hold the lock for starting and stopping the server."""
    with (home / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def create_database(home: Path) -> None:
    """Create Loci's database unless it exists."""
    with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="postgres", autocommit=True) as connection:
        exists = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if not exists:
            connection.execute(f"CREATE DATABASE {DATABASE}")


def start(cluster: Cluster, durable: bool) -> None:
    """Start the server and wait until it accepts connections, if need be on the space of the reserve."""
    if lacks_space(cluster):
        release_reserve(cluster.folder)
    remove_stale_locks(cluster)
    trim_log(cluster.log)
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{make_socket_folder(cluster)}"',
        "unix_socket_permissions": "0700",
        **(SETTINGS if durable else TEST_SETTINGS),
    }
    options = shlex.join(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
    execute(
        cluster, "pg_ctl", "start", "--wait", "--timeout", START_TIMEOUT, "--silent",
        "--pgdata", cluster.data, "--log", cluster.log, "--options", options,
    )  # fmt: skip


def stop(cluster: Cluster) -> None:
    """Close all connections and shut the server down cleanly."""
    if is_up(cluster):
        execute(
            cluster, "pg_ctl", "stop", "--wait", "--timeout", STOP_TIMEOUT, "--silent",
            "--mode", "fast", "--pgdata", cluster.data,
        )  # fmt: skip
    folder = socket_folder(cluster.home)
    if not folder.is_relative_to(cluster.home):
        with contextlib.suppress(OSError):
            folder.rmdir()


def is_up(cluster: Cluster) -> bool:
    """Return whether the cluster's server process is running."""
    return postmaster(cluster) is not None


def postmaster(cluster: Cluster) -> psutil.Process | None:
    """Return the running server's process, or None. The pid in its file may be another program's by now."""
    try:
        lines = (cluster.data / "postmaster.pid").read_text().splitlines()
        process = psutil.Process(int(lines[0]))
        program = Path(process.cmdline()[0]).name
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess, psutil.ZombieProcess):
        return None
    return process if program == "postgres" and str(cluster.data) in process.cmdline() else None


def remove_stale_locks(cluster: Cluster) -> None:
    """Remove the pid files of a killed server: Postgres refuses to start if another process has that pid by now."""
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    folder = make_socket_folder(cluster)
    for name in (f".s.PGSQL.{PORT}.lock", f".s.PGSQL.{PORT}"):
        (folder / name).unlink(missing_ok=True)
