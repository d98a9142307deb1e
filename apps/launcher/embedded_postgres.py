"""Embedded Postgres with pgvector, which runs while at least one process uses it.

The cluster is in ``LOCI_HOME/postgres``. It listens only on a Unix socket, in a folder that is closed to other users,
with peer authentication. Each process that uses the server holds a shared lock on a file; the last to release it
stops the server. The kernel releases the lock of a killed process.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from apps.launcher.disk import MEGABYTE, release_reserve, trim_log
from apps.launcher.postgres_programs import EmbeddedPostgresError, reachable_programs, root_data_folder
from apps.launcher.system_user import SystemUser, server_user

PORT = 5432
ROLE = "loci"
DATABASE = "loci"
LONGEST_SOCKET_PATH = 107  # bytes, from sockaddr_un
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


@dataclass(frozen=True)
class Cluster:
    """Database cluster on disk, with the system user and programs that run it."""

    home: Path
    user: SystemUser
    programs: Path

    @property
    def folder(self) -> Path:
        """Return the cluster's folder, to which ``LOCI_HOME/postgres`` may be a link."""
        return (self.home / "postgres").resolve()

    @property
    def data(self) -> Path:
        """Return Postgres's data directory."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Return the server's log file."""
        return self.folder / "server.log"


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


def cluster_of(home: Path) -> Cluster:
    """Return the existing cluster of the data folder, to look at: without the programs that run it."""
    return Cluster(home, owner_of((home / "postgres").resolve()), Path())


def lacks_space(cluster: Cluster) -> bool:
    """Return whether the disk has less free space than the server needs to start."""
    return shutil.disk_usage(cluster.folder).free < NEEDED_TO_START


@contextlib.contextmanager
def start_stop_lock(home: Path) -> Iterator[None]:
    """Hold the lock for starting and stopping the server."""
    with (home / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# Folders


def prepare_home(home: Path) -> None:
    """Create the data folder with mode 0700 or, for root, 0711, so that the server's user can traverse it."""
    if home.is_dir():
        if not os.access(home, os.W_OK):
            raise EmbeddedPostgresError(f"{home} is not writable; set LOCI_HOME to another folder.")
        return
    try:
        home.mkdir(parents=True)
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        raise EmbeddedPostgresError(f"cannot create the data folder {home}: {error.strerror}.") from error


def private_file(path: Path, content: str) -> str:
    """Return the content of a file that only its owner may read. Create it with ``content`` if it is missing."""
    prepare_home(path.parent)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".new-") as file:  # created with mode 0600
        file.write(content)
        file.flush()
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
    return path.read_text()


def socket_folder(home: Path) -> Path:
    """Return the socket's folder: in the cluster's folder, or in ``/tmp`` if that path is too long or has a comma."""
    inside = home / "postgres" / "run"
    path = os.fsencode(inside / f".s.PGSQL.{PORT}")
    if len(path) <= LONGEST_SOCKET_PATH and b"," not in path:  # libpq splits hosts at commas
        return inside
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path("/tmp") / f"loci-{os.geteuid()}-{digest}"  # noqa: S108


def make_socket_folder(cluster: Cluster) -> Path:
    """Create the socket's folder. Raise EmbeddedPostgresError if another user controls it."""
    folder = socket_folder(cluster.home)
    folder = folder.resolve() if folder.is_relative_to(cluster.home) else folder
    if not folder.is_symlink() and not folder.exists():
        folder.mkdir(mode=0o700)
        make_private(folder, cluster.user)
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != cluster.user.uid or status.st_mode & 0o077:
        raise EmbeddedPostgresError(f"{folder} must be a folder of {cluster.user.name} that is closed to others.")
    return folder


def make_private(folder: Path, user: SystemUser) -> None:
    """Transfer a folder to ``user`` and close it to others."""
    folder.chmod(0o700)
    if user.subprocess_options:
        os.chown(folder, user.uid, user.gid)


# The cluster


def find_or_create(home: Path, durable: bool) -> Cluster:
    """Return the cluster of the data folder, initialised if necessary."""
    link = home / "postgres"
    user = owner_of(link.resolve()) if link.exists() else server_user()
    cluster = Cluster(home, user, reachable_programs(user))
    if not link.exists():
        make_cluster_folder(link, user)
    if not (cluster.data / "PG_VERSION").exists():
        initialise(cluster, durable)
    return cluster


def owner_of(folder: Path) -> SystemUser:
    """Return the owner of a cluster. Raise EmbeddedPostgresError if this process can't run it."""
    entry = pwd.getpwuid(folder.stat().st_uid)
    if os.geteuid() not in (0, entry.pw_uid):
        raise EmbeddedPostgresError(f"{folder} belongs to {entry.pw_name}; set LOCI_HOME to another folder.")
    if entry.pw_uid == 0:
        raise EmbeddedPostgresError(f"{folder} belongs to root, and Postgres refuses to run as root; remove it.")
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def make_cluster_folder(link: Path, user: SystemUser) -> None:
    """Create ``LOCI_HOME/postgres``: a folder or, if the server's user can't reach it, a link to one that it can."""
    if not link.is_symlink():
        link.mkdir()
        make_private(link, user)
        if user.can_access(link):
            return
        link.rmdir()
    link.unlink(missing_ok=True)
    external = Path(tempfile.mkdtemp(prefix="cluster-", dir=root_data_folder()))
    make_private(external, user)
    link.symlink_to(external)


def initialise(cluster: Cluster, durable: bool) -> None:
    """Run initdb in a temporary folder and rename it, so that an interrupted run leaves no broken cluster."""
    unfinished = cluster.folder / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    options = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    options += ["--auth=peer", f"--username={ROLE}", *([] if durable else ["--no-sync"])]
    execute(cluster, "initdb", "--pgdata", unfinished, *options)
    write_private(unfinished / "pg_hba.conf", "local all all peer map=loci\n")
    users = {pwd.getpwuid(os.geteuid()).pw_name, cluster.user.name}
    write_private(unfinished / "pg_ident.conf", "".join(f'loci "{name}" {ROLE}\n' for name in users))
    unfinished.rename(cluster.data)


def write_private(path: Path, content: str) -> None:
    """Overwrite a file of the server's user, which keeps its owner, and close it to others."""
    path.write_text(content)
    path.chmod(0o600)


def create_database(home: Path) -> None:
    """Create Loci's database unless it exists."""
    with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="postgres", autocommit=True) as connection:
        exists = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if not exists:
            connection.execute(f"CREATE DATABASE {DATABASE}")


# The server


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


def execute(cluster: Cluster, program: str, *arguments: object) -> None:
    """Run a Postgres program as the server's user. Raise EmbeddedPostgresError with its output."""
    command = [str(part) for part in (cluster.programs / program, *arguments)]
    with tempfile.TemporaryFile("w+") as output:
        completed = cluster.user.run(command, stdout=output, stderr=output, check=False)
        if completed.returncode:
            output.seek(0)
            raise EmbeddedPostgresError(f"{program}: {output.read().strip()} (log: {cluster.log})")
