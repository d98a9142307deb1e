"""The dump before an upgrade, the way back, and what is said of the disk."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps.launcher import disk, upgrades
from apps.launcher.embedded_postgres import ROLE, EmbeddedPostgresError, running, socket_folder
from apps.launcher.upgrades import dump, dumps, restore


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a data folder that the server's user can reach, also under root, while its server runs."""
    folder = Path(tempfile.mkdtemp(prefix="loci-pg-"))
    folder.chmod(0o755)
    with running(folder / "home", durable=False):
        yield folder / "home"
    shutil.rmtree(folder)


def execute(home: Path, statement: str) -> Any:
    with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="loci", autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


def test_the_data_of_before_an_upgrade_comes_back(home: Path) -> None:
    execute(home, "CREATE TABLE notes AS SELECT 'kept' AS text")
    kept = dump(home)
    execute(home, "ALTER TABLE notes RENAME TO pages")
    restore(home, kept)
    assert execute(home, "SELECT text FROM notes") == [("kept",)]

    damaged = kept.with_name("damaged.dump")
    damaged.write_bytes(b"no dump")
    with pytest.raises(EmbeddedPostgresError):
        restore(home, damaged)
    assert execute(home, "SELECT text FROM notes") == [("kept",)]
    damaged.unlink()

    for day in (1, 2, 3):
        kept.with_name(f"2000-01-0{day}-000000.dump").write_bytes(b"")
    last = dump(home)
    assert len(dumps(home)) == upgrades.KEPT
    assert dumps(home)[-1] == last


@pytest.mark.django_db
def test_a_database_with_all_migrations_is_not_upgraded() -> None:
    assert not upgrades.is_upgrade()


def test_a_full_disk_is_told_once(tmp_path: Path, monkeypatch: Any) -> None:
    left, said = [500], []
    monkeypatch.setattr(disk, "free_megabytes", lambda folder: left[0])
    monkeypatch.setattr(disk, "INTERVAL", 0)
    check = disk.disk_check(tmp_path, 100, said.append)
    for free in (500, 50, 40, 300, 300):
        left[0] = free
        check()
    assert [line.split(":")[0] for line in said] == ["The disk is almost full", "The disk has space again"]


def test_a_long_log_keeps_its_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(disk, "MAX_LOG_BYTES", 1000)
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(500)))
    disk.trim_log(log)
    lines = log.read_text().splitlines()
    assert lines[-1] == "line 499"
    assert lines[0].startswith("line ")
    assert log.stat().st_size <= 500
