"""Postgres with pgvector, run from the wheel's own programs, for as long as somebody needs it.

The cluster lies in `LOCI_HOME/postgres` and listens on a Unix socket only, in a folder that is closed to other users;
whoever gets that far is still asked by the kernel who they are (`peer`). Every process that uses the server holds a
shared lock on a file; the last one to leave stops it. The kernel drops the lock of a process that is killed.
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

from apps.launcher.postgres_programs import EmbeddedPostgresError, reachable_programs, roots_folder
from apps.launcher.system_user import SystemUser, server_user

PORT = 5432
ROLE = "loci"
DATABASE = "loci"
LONGEST_SOCKET_PATH = 107  # bytes, from sockaddr_un
START_TIMEOUT = 120  # seconds; recovery after a crash may take a while
STOP_TIMEOUT = 60  # seconds


@dataclass(frozen=True)
class Cluster:
    """A database cluster on disk, and the user and programs that run it."""

    home: Path
    user: SystemUser
    programs: Path

    @property
    def folder(self) -> Path:
        """The folder of the server's user; `LOCI_HOME/postgres` may be a link to it."""
        return (self.home / "postgres").resolve()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"


@contextlib.contextmanager
def running(home: Path | None, *, durable: bool = True) -> Iterator[None]:
    """Within it the server of this data folder is up; `None` is nobody's server and does nothing.

    `durable=False` trades safety against power cuts for speed, for tests.
    """
    if home is None:
        yield
        return
    prepare_home(home)
    with (home / "postgres.users").open("w") as users:
        cluster = join(home, users.fileno(), durable)
        try:
            yield
        finally:
            leave(cluster, users.fileno())


def join(home: Path, users: int, durable: bool) -> Cluster:
    """Start the server if it is down, and count ourselves among its users."""
    with alone(home):
        try:
            cluster = find_or_create(home, durable)
            if not is_up(cluster):
                start(cluster, durable)
        except OSError as error:
            raise EmbeddedPostgresError(f"{error.strerror}: {error.filename}") from error
        create_database(home)
        fcntl.flock(users, fcntl.LOCK_SH)
    return cluster


def leave(cluster: Cluster, users: int) -> None:
    """Stop the server if nobody else uses it."""
    with alone(cluster.home), contextlib.suppress(BlockingIOError):
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stop(cluster)


def revive(home: Path) -> None:
    """Start the server again if it was killed; for a process that already is among its users."""
    cluster = Cluster(home, owner_of((home / "postgres").resolve()), Path())
    if not is_up(cluster):
        with alone(home):
            start(find_or_create(home, durable=True), durable=True)


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Wait until no other process is starting or stopping the server."""
    with (home / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# Folders


def prepare_home(home: Path) -> None:
    """Make the data folder: ours alone, or, for root, such that the server's user can pass through."""
    if home.is_dir():
        if not os.access(home, os.W_OK):
            raise EmbeddedPostgresError(f"{home} is not ours to write to; set LOCI_HOME to another folder.")
        return
    try:
        home.mkdir(parents=True)
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        raise EmbeddedPostgresError(f"cannot make the data folder {home}: {error.strerror}.") from error


def private_file(path: Path, content: str) -> str:
    """The content of a file that only its owner may read; made with `content` if it is missing."""
    prepare_home(path.parent)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".new-") as file:  # made with mode 0600
        file.write(content)
        file.flush()
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
    return path.read_text()


def socket_folder(home: Path) -> Path:
    """Where the server's socket lies: beside the data, or in `/tmp` if that path cannot be a socket's."""
    near = home / "postgres" / "run"
    path = os.fsencode(near / f".s.PGSQL.{PORT}")
    if len(path) <= LONGEST_SOCKET_PATH and b"," not in path:  # libpq takes a comma for two hosts
        return near
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path("/tmp") / f"loci-{os.geteuid()}-{digest}"  # noqa: S108


def make_socket_folder(cluster: Cluster) -> Path:
    """The socket's folder as the server sees it; refuses one that somebody else has put there."""
    folder = socket_folder(cluster.home)
    folder = folder.resolve() if folder.is_relative_to(cluster.home) else folder
    if not folder.is_symlink() and not folder.exists():
        give(cluster.user, folder, make=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != cluster.user.uid or found.st_mode & 0o077:
        raise EmbeddedPostgresError(f"{folder} must be a folder of {cluster.user.name} that is closed to others.")
    return folder


def give(user: SystemUser, folder: Path, *, make: bool = False) -> None:
    """Make a folder of ours one of `user`, closed to everybody else."""
    if make:
        folder.mkdir(mode=0o700)
    folder.chmod(0o700)
    if user.switch:
        os.chown(folder, user.uid, user.gid)


# The cluster


def find_or_create(home: Path, durable: bool) -> Cluster:
    """The cluster of this data folder, initialised if there is none yet."""
    link = home / "postgres"
    user = owner_of(link.resolve()) if link.exists() else server_user()
    cluster = Cluster(home, user, reachable_programs(user))
    if not link.exists():
        make_cluster_folder(link, user)
    if not (cluster.data / "PG_VERSION").exists():
        initialise(cluster, durable)
    return cluster


def owner_of(folder: Path) -> SystemUser:
    """The user whom an existing cluster belongs to, which must be us unless we are root."""
    entry = pwd.getpwuid(folder.stat().st_uid)
    if os.geteuid() not in (0, entry.pw_uid):
        raise EmbeddedPostgresError(f"{folder} belongs to {entry.pw_name}; set LOCI_HOME to another folder.")
    if entry.pw_uid == 0:
        raise EmbeddedPostgresError(f"{folder} belongs to root, as whom Postgres does not run; remove it.")
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def make_cluster_folder(link: Path, user: SystemUser) -> None:
    """`LOCI_HOME/postgres`: a folder, or a link to one elsewhere where the server's user cannot get in here."""
    if not link.is_symlink():
        link.mkdir()
        give(user, link)
        if user.reaches(link):
            return
        link.rmdir()
    link.unlink(missing_ok=True)
    outside = Path(tempfile.mkdtemp(prefix="cluster-", dir=roots_folder()))
    give(user, outside)
    link.symlink_to(outside)


def initialise(cluster: Cluster, durable: bool) -> None:
    """Run initdb into a folder beside the final one, so that no half-made cluster is ever taken for a whole one."""
    unfinished = cluster.folder / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    options = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    options += ["--auth=peer", f"--username={ROLE}", *([] if durable else ["--no-sync"])]
    execute(cluster, "initdb", "--pgdata", unfinished, *options)
    own_file(cluster, unfinished / "pg_hba.conf", "local all all peer map=loci\n")
    users = {pwd.getpwuid(os.geteuid()).pw_name, cluster.user.name}
    own_file(cluster, unfinished / "pg_ident.conf", "".join(f'loci "{name}" {ROLE}\n' for name in users))
    unfinished.rename(cluster.data)


def own_file(cluster: Cluster, path: Path, content: str) -> None:
    """Rewrite a file that belongs to the server's user."""
    path.write_text(content)
    path.chmod(0o600)


def create_database(home: Path) -> None:
    """Create Loci's own database in a new cluster."""
    with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="postgres", autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if not found:
            connection.execute(f"CREATE DATABASE {DATABASE}")


# The server


def start(cluster: Cluster, durable: bool) -> None:
    """Start the server and wait until it answers."""
    remove_stale_locks(cluster)
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{make_socket_folder(cluster)}"',
        "unix_socket_permissions": "0700",
        **({} if durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
    }
    options = shlex.join(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
    execute(
        cluster, "pg_ctl", "start", "--wait", "--timeout", START_TIMEOUT, "--silent",
        "--pgdata", cluster.data, "--log", cluster.log, "--options", options,
    )  # fmt: skip


def stop(cluster: Cluster) -> None:
    """Close all connections and stop the server in order."""
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
    """Whether the cluster's own server process is alive."""
    return postmaster(cluster) is not None


def postmaster(cluster: Cluster) -> psutil.Process | None:
    """The server's process by its pid file, unless that number has gone to another program since."""
    try:
        lines = (cluster.data / "postmaster.pid").read_text().splitlines()
        process = psutil.Process(int(lines[0]))
        named = Path(process.cmdline()[0]).name
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess, psutil.ZombieProcess):
        return None
    return process if named == "postgres" and str(cluster.data) in process.cmdline() else None


def remove_stale_locks(cluster: Cluster) -> None:
    """Remove the pid files of a server that was killed, whose number another process may have by now."""
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    folder = make_socket_folder(cluster)
    for name in (f".s.PGSQL.{PORT}.lock", f".s.PGSQL.{PORT}"):
        (folder / name).unlink(missing_ok=True)


def execute(cluster: Cluster, program: str, *arguments: object) -> None:
    """Run one of Postgres's programs as the server's user; its complaint becomes our error."""
    command = [str(part) for part in (cluster.programs / program, *arguments)]
    with tempfile.TemporaryFile("w+") as output:
        done = cluster.user.run(command, stdout=output, stderr=output, check=False)
        if done.returncode:
            output.seek(0)
            raise EmbeddedPostgresError(f"{program}: {output.read().strip()} (log: {cluster.log})")
