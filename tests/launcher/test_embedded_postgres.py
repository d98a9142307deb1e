"""Embedded Postgres: start, sharing, stop, crashes and permissions."""

import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from apps.launcher import embedded_postgres
from apps.launcher.embedded_postgres import running
from apps.launcher.postgres_cluster import ROLE, private_file, socket_folder
from apps.launcher.postgres_programs import EmbeddedPostgresError


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a data folder that the server's user can reach, also under root."""
    folder = Path(tempfile.mkdtemp(prefix="loci-pg-"))
    folder.chmod(0o755)
    yield folder / "home"
    stop_whatever_runs(folder / "home")
    shutil.rmtree(folder)


def stop_whatever_runs(home: Path) -> None:
    pid_file = home / "postgres" / "data" / "postmaster.pid"
    if pid_file.exists():
        pid = int(pid_file.read_text().split()[0])
        if psutil.pid_exists(pid) and psutil.Process(pid).name() == "postgres":
            os.kill(pid, signal.SIGKILL)


def connect(home: Path) -> psycopg.Connection:
    return psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="loci", autocommit=True)


def postmaster(home: Path) -> int:
    return int((home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def test_a_new_cluster_has_the_database_in_utf8_with_vectors_at_hand(home: Path) -> None:
    with running(home, durable=False), connect(home) as connection:
        encoding, provider, locale = connection.execute(
            "SELECT pg_encoding_to_char(encoding), datlocprovider, datlocale FROM pg_database WHERE datname = 'loci'"
        ).fetchone()
        vector = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()

    assert (encoding, provider, locale) == ("UTF8", "b", "C.UTF-8")
    assert vector == (1,)


def test_a_killed_server_is_restarted(home: Path) -> None:
    with running(home, durable=False):
        os.kill(postmaster(home), signal.SIGKILL)
        time.sleep(0.2)
        embedded_postgres.restart_if_down(home)
        with connect(home) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_another_command_has_just_started_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(home, durable=False):
        started, is_up = [False], embedded_postgres.is_up
        monkeypatch.setattr(embedded_postgres, "is_up", lambda cluster: started.pop() if started else is_up(cluster))
        monkeypatch.setattr(embedded_postgres, "start", lambda *_, **__: pytest.fail("started twice"))
        assert embedded_postgres.restart_if_down(home)


def test_an_unusable_data_folder_is_reported() -> None:
    with pytest.raises(EmbeddedPostgresError, match="cannot create the data folder"), running(Path("/proc/loci")):
        pass


def test_a_private_file_is_created_once_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "secret"

    assert private_file(path, "first") == "first"
    assert private_file(path, "second") == "first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
