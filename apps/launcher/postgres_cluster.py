"""The cluster of the embedded Postgres on disk, and the folders around it.

It is in ``LOCI_HOME/postgres``, and listens only on a Unix socket, in a folder that is closed to other users, with peer
authentication.
"""

import contextlib
import hashlib
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from apps.launcher.postgres_programs import EmbeddedPostgresError, reachable_programs, root_data_folder
from apps.launcher.system_user import SystemUser, server_user

PORT = 5432
ROLE = "loci"
DATABASE = "loci"
LONGEST_SOCKET_PATH = 107  # bytes, from sockaddr_un


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


def cluster_of(home: Path) -> Cluster:
    """Return the existing cluster of the data folder, to look at: without the programs that run it."""
    return Cluster(home, owner_of((home / "postgres").resolve()), Path())


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


def execute(cluster: Cluster, program: str, *arguments: object) -> None:
    """Run a Postgres program as the server's user. Raise EmbeddedPostgresError with its output."""
    command = [str(part) for part in (cluster.programs / program, *arguments)]
    with tempfile.TemporaryFile("w+") as output:
        completed = cluster.user.run(command, stdout=output, stderr=output, check=False)
        if completed.returncode:
            output.seek(0)
            raise EmbeddedPostgresError(f"{program}: {output.read().strip()} (log: {cluster.log})")


# Folders and files


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


def write_private(path: Path, content: str) -> None:
    """Overwrite a file of the server's user, which keeps its owner, and close it to others."""
    path.write_text(content)
    path.chmod(0o600)


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
