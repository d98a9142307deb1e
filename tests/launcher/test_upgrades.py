"""The dump before an upgrade, the way back, and what is said of the disk."""

import datetime as dt
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.launcher import disk, upgrades
from apps.launcher.embedded_postgres import running
from apps.launcher.postgres_cluster import ROLE, socket_folder
from apps.launcher.postgres_programs import EmbeddedPostgresError
from apps.launcher.upgrades import digest_file, dump, dumps, restore


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
    before = time.time() - (upgrades.KEPT_DAYS + 1) * 86_400
    for each in dumps(home):
        os.utime(each, (before, before))
    upgrades.trim_dumps(home)
    assert dumps(home) == [last]
    assert list(last.parent.glob("*.sha256")) == [digest_file(last)]

    with pytest.raises(EmbeddedPostgresError, match="Nothing was changed: make space"):
        upgrades.refuse_without_space(home, shutil.disk_usage(home).free * 2, upgrades.NO_SPACE_TO_UPGRADE)


def test_a_way_back_that_fails_leaves_no_half_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(home, "CREATE TABLE notes AS SELECT 'kept' AS text")
    kept = dump(home)
    cut_off = kept.with_name("cut-off.dump")
    cut_off.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
    with pytest.raises(EmbeddedPostgresError, match="pg_restore"):
        restore(home, cut_off)
    assert execute(home, f"SELECT 1 FROM pg_database WHERE datname = '{upgrades.RESTORED}'") == []
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
        with pytest.raises(EmbeddedPostgresError, match="The way back needs up to"):
            restore(home, kept)
    assert execute(home, "SELECT text FROM notes") == [("kept",)]


def test_a_dump_that_was_cut_off_or_changed_is_refused(home: Path) -> None:
    execute(home, "CREATE TABLE notes AS SELECT number AS text FROM generate_series(1, 500) AS number")
    digest_file(home / "before-upgrades" / "killed.dump").parent.mkdir()
    digest_file(home / "before-upgrades" / "killed.dump").touch()
    kept = dump(home)
    assert [file.name for file in kept.parent.glob("*.sha256")] == [f"{kept.name}.sha256"]
    execute(home, "INSERT INTO notes VALUES (501)")
    whole, cut_off = kept.read_bytes(), kept.stat().st_size - 200
    for damaged in (whole[:cut_off], whole.replace(b"notes", b"pages"), b""):
        kept.write_bytes(damaged)
        with pytest.raises(EmbeddedPostgresError, match="cut off or changed since it was written"):
            restore(home, kept)
        assert execute(home, "SELECT count(*) FROM notes") == [(501,)]
    kept.write_bytes(whole)
    restore(home, kept)
    assert execute(home, "SELECT count(*) FROM notes") == [(500,)]


def test_a_dump_is_on_the_disk_before_it_has_its_name_and_is_noted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, int, int, bool]] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        status = os.fstat(descriptor)
        is_folder = stat.S_ISDIR(status.st_mode)
        seen.append((is_folder, 0 if is_folder else status.st_size, len(dumps(home)), upgrades.begun(home).exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    size = dump(home).stat().st_size
    upgrades.note_begun(home)
    of_home, of_file, of_digest, of_name, of_note = seen
    assert of_home == (True, 0, 0, False)
    assert of_file == (False, size, 0, False)
    assert of_digest == (False, digest_file(dumps(home)[0]).stat().st_size, 0, False)
    assert of_name == (True, 0, 1, False)
    assert of_note == (True, 0, 1, True)


@pytest.mark.django_db
def test_a_database_with_all_migrations_is_not_upgraded() -> None:
    assert not upgrades.is_upgrade()


@pytest.mark.django_db
def test_a_stale_note_of_a_former_try_does_not_keep_a_dump_from_being_made(tmp_path: Path) -> None:
    folder = tmp_path / "before-upgrades"
    folder.mkdir()
    assert not upgrades.has_dump_of_former_try(tmp_path)
    upgrades.note_begun(tmp_path)
    assert not upgrades.has_dump_of_former_try(tmp_path), "its dump is gone"
    (folder / "2000-01-01-000000.dump").touch()
    assert upgrades.has_dump_of_former_try(tmp_path)
    long_ago = time.time() - upgrades.FORMER_TRY_HOURS * 3600 - 60
    os.utime(upgrades.begun(tmp_path), (long_ago, long_ago))
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.update(applied=dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
    assert not upgrades.has_dump_of_former_try(tmp_path), "the former version may have written since"
    recorder.record_applied("memories", "9999_half_of_the_upgrade")
    assert upgrades.has_dump_of_former_try(tmp_path), "a dump would have half-migrated data"


def test_a_full_disk_is_told_once_and_the_reserve_is_given_up(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(disk, "INTERVAL", 0)
    monkeypatch.setattr(disk, "RESERVE_MEGABYTES", 1)
    (tmp_path / "postgres").mkdir()
    reserve = tmp_path / "postgres" / "reserve"
    left, said, kept = 0, list[str](), list[bool]()
    check = disk.disk_check(tmp_path, 100, said.append, lambda: left)
    for left in (500, 50, 40, 10, 10, 50, 300, 300):  # noqa: B007 - read by the check
        check()
        kept.append(reserve.exists())
    assert [line.split(":")[0] for line in said] == [
        "The disk is almost full",
        "The disk is full",
        "The disk has space again",
    ]
    assert kept == [True, True, True, False, False, False, True, True]
    assert reserve.stat().st_size == 1024 * 1024


def test_a_long_log_keeps_its_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(disk, "MAX_LOG_BYTES", 1000)
    log = tmp_path / "server.log"
    with log.open("a") as server:
        server.write("".join(f"line {number}\n" for number in range(499)))
        server.flush()
        disk.trim_log(log)
        server.write("line 499\n")
    lines = log.read_text().splitlines()
    assert lines[-1] == "line 499"
    assert lines[0].startswith("line ")
    assert "\0" not in log.read_text()
    assert log.stat().st_size <= 510
