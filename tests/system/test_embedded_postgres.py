"""Embedded Postgres: sharing, stop, crashes and permissions."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import psycopg
import pytest

from apps.launcher import postgres_programs
from apps.launcher.embedded_postgres import running
from apps.launcher.postgres_cluster import ROLE, socket_folder
from apps.launcher.postgres_programs import EmbeddedPostgresError
from config.env import ROOT
from tests.launcher.test_embedded_postgres import connect, postmaster, stop_whatever_runs
from tests.launcher.test_embedded_postgres import home as home

HOLD = """
import sys
from pathlib import Path
from apps.launcher.embedded_postgres import running
with running(Path(sys.argv[1]), durable=False):
    print("up", flush=True)
    sys.stdin.read()
"""


def hold(home: Path) -> subprocess.Popen[str]:
    """Start another process that uses the server until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.fixture
def unreachable_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder that the server's user can't reach, and redirect ROOT_DATA to a temporary folder."""
    home.parent.chmod(0o700)
    roots = Path(tempfile.mkdtemp(prefix="loci-roots-"))
    roots.chmod(0o755)
    monkeypatch.setattr(postgres_programs, "ROOT_DATA", roots)
    yield home
    stop_whatever_runs(home)
    shutil.rmtree(roots)


def test_the_last_process_stops_the_server_and_data_is_kept(home: Path) -> None:
    with running(home, durable=False):
        with running(home, durable=False), connect(home) as connection:
            connection.execute("CREATE TABLE kept (n int)")
        with connect(home) as connection:
            connection.execute("INSERT INTO kept VALUES (1)")
    with pytest.raises(psycopg.OperationalError):
        connect(home)
    with running(home, durable=False), connect(home) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(1,)]


def test_processes_that_start_at_once_share_one_server(home: Path) -> None:
    first, second = (
        subprocess.Popen([sys.executable, "-c", HOLD, str(home)], cwd=ROOT, stdin=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    with running(home, durable=False):
        server = postmaster(home)
    first.communicate()
    second.communicate()

    assert (first.returncode, second.returncode) == (0, 0)
    assert not psutil.pid_exists(server) or psutil.Process(server).status() == psutil.STATUS_ZOMBIE


def test_a_killed_process_does_not_keep_the_server_running(home: Path) -> None:
    other = hold(home)
    with running(home, durable=False):
        other.kill()
        other.communicate()

    assert not (home / "postgres" / "data" / "postmaster.pid").exists()


def test_data_is_kept_after_everything_was_killed(home: Path) -> None:
    other = hold(home)
    with connect(home) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
        connection.execute("CHECKPOINT")
    os.kill(postmaster(home), signal.SIGKILL)
    other.kill()
    other.communicate()

    with running(home, durable=False), connect(home) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(1,)]


def test_a_stale_pid_file_with_the_pid_of_another_program_is_ignored(home: Path) -> None:
    with running(home, durable=False):
        pid_file = home / "postgres" / "data" / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    (home / "postgres" / "run" / ".s.PGSQL.5432.lock").write_text(f"{os.getpid()}\n")

    with running(home, durable=False), connect(home) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_folder_too_deep_for_a_socket_still_works(home: Path) -> None:
    deep = home.joinpath(*["a-folder-with-a-long-name"] * 4)
    deep.parent.mkdir(parents=True)

    with running(deep, durable=False), connect(deep) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert not socket_folder(deep).is_relative_to(deep)
    assert not socket_folder(deep).exists()


def test_a_folder_with_odd_characters_works(home: Path) -> None:
    odd = home / "my data, 'ünd' more"

    with running(odd, durable=False), connect(odd) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_socket_folder_of_another_user_is_refused(home: Path) -> None:
    deep = home.joinpath(*["a-folder-with-a-long-name"] * 4)
    deep.parent.mkdir(parents=True)
    socket_folder(deep).mkdir(mode=0o777)
    socket_folder(deep).chmod(0o777)
    try:
        with pytest.raises(EmbeddedPostgresError, match="closed to others"), running(deep, durable=False):
            pass
    finally:
        shutil.rmtree(socket_folder(deep))


def test_the_folders_of_the_server_are_closed_to_others(home: Path) -> None:
    with running(home, durable=False):
        for folder in (home / "postgres", home / "postgres" / "data", home / "postgres" / "run"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run the server")
def test_the_cluster_is_elsewhere_if_the_servers_user_can_not_reach_the_data_folder(unreachable_home: Path) -> None:
    with running(unreachable_home, durable=False), connect(unreachable_home) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)

    assert (unreachable_home / "postgres").is_symlink()
    assert stat.S_IMODE(unreachable_home.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run the server")
def test_the_server_runs_a_copy_if_its_user_can_not_reach_the_wheel(
    unreachable_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = postgres_programs.wheel_folder()
    hidden = unreachable_home.parent / "site-packages"
    hidden.mkdir()
    (hidden / wheel.name).symlink_to(wheel)
    monkeypatch.setattr(postgres_programs, "wheel_folder", lambda: hidden / wheel.name)
    shutil.copytree(wheel.parent / f"{wheel.name}.libs", hidden / f"{wheel.name}.libs")

    with running(unreachable_home, durable=False), connect(unreachable_home) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_of_the_machine_gets_no_connection(home: Path) -> None:
    with running(home, durable=False):
        psql = postgres_programs.wheel_folder() / "pginstall18" / "bin" / "psql"
        stranger = subprocess.run(
            [psql, "-h", socket_folder(home), "-U", ROLE, "-c", "SELECT 1", "loci"],
            user="nobody",
            cwd="/",
            capture_output=True,
            text=True,
        )

    assert "Permission denied" in stranger.stderr
