"""How the supervisor starts the programs of an installation."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError

from apps.launcher import embedded_postgres, supervisor, upgrades
from apps.launcher.management.commands import up
from apps.launcher.postgres_programs import EmbeddedPostgresError
from apps.launcher.services import all_services, one_worker, worker
from apps.launcher.supervisor import Service, ServiceFailed, StopRequested

PRINT_PRIORITY = 'import os, sys; open(sys.argv[1], "w").write(str(os.getpriority(os.PRIO_PROCESS, 0)))'
CRASH_ONCE = """
import pathlib, sys, time
started = pathlib.Path(sys.argv[1])
first = not started.exists()
started.touch()
if first:
    sys.exit(3)
started.with_name("ready").touch()
time.sleep(60)
"""


def test_a_service_gives_way_without_the_program_nice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    service = Service("patient", [sys.executable, "-c", PRINT_PRIORITY, str(tmp_path / "priority")], niceness=3)
    service.start()
    assert service.process
    assert service.process.wait(30) == 0
    expected = min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)
    assert (tmp_path / "priority").read_text() == str(expected)


def test_each_service_is_a_program_of_this_python(settings: Any) -> None:
    for settings.LOCI_FORM in ("small", "large"):
        assert {service.command[0] for service in all_services()} == {sys.executable}


def test_long_work_has_a_lower_priority_than_what_users_wait_for() -> None:
    assert worker("indexing").niceness > worker("extraction").niceness > worker("interactive").niceness == 0
    assert one_worker().niceness > 0


def test_a_service_that_crashes_during_the_start_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_DELAY", 0)
    monkeypatch.setattr(up, "is_ready", (tmp_path / "ready").exists)
    service, checked = Service("worker", [sys.executable, "-c", CRASH_ONCE, str(tmp_path / "started")]), list[bool]()
    service.start()
    try:
        up.wait_until_ready([service], [lambda: checked.append(True)])
        assert service.alive
    finally:
        service.send(signal.SIGKILL)
    assert checked
    assert "worker exited with status 3; starting it again." in capsys.readouterr().err


def test_a_service_that_keeps_crashing_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_DELAY", 0)
    monkeypatch.setattr(up, "READY_INTERVAL", 0.01)
    monkeypatch.setattr(up, "is_ready", lambda: False)
    service = Service("worker", [sys.executable, "-c", "raise SystemExit(3)"])
    service.start()
    with pytest.raises(ServiceFailed, match="worker keeps crashing: exited with status 3"):
        up.wait_until_ready([service], [])


@pytest.mark.parametrize("is_essential", [False, True])
def test_the_web_server_goes_on_while_another_service_keeps_crashing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_essential: bool
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_DELAY", 0)
    monkeypatch.setattr(supervisor, "POLL_INTERVAL", 0)
    now, looks, starts = 0.0, 0, 0
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now)
    monkeypatch.setattr(Service, "alive", False)

    def start(service: Service) -> None:
        nonlocal starts
        starts += 1

    def check() -> None:
        nonlocal now, looks
        now, looks = now + 1.0, looks + 1
        if looks > supervisor.MAX_CRASHES + supervisor.PAUSE:
            raise StopRequested

    service = Service("worker", [sys.executable, "-c", "raise SystemExit(3)"], is_essential=is_essential)
    service.start()
    assert service.process
    service.process.wait()
    monkeypatch.setattr(Service, "start", start)
    with pytest.raises(ServiceFailed if is_essential else StopRequested):
        supervisor.keep_running([service], [check])
    assert starts == supervisor.MAX_CRASHES + (0 if is_essential else 1)
    assert ("Loci goes on without it" in capsys.readouterr().err) != is_essential


def test_only_the_web_server_is_essential(settings: Any) -> None:
    for settings.LOCI_FORM in ("small", "large"):
        assert [service.name for service in all_services() if service.is_essential] == ["web"]


def test_a_service_that_takes_long_to_crash_ends_the_start_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_DELAY", 0)
    monkeypatch.setattr(up, "READY_INTERVAL", 0.01)
    monkeypatch.setattr(up, "is_ready", lambda: False)
    now = 0.0

    def slow_clock() -> float:
        nonlocal now
        now += 10.0
        return now

    monkeypatch.setattr(supervisor.time, "monotonic", slow_clock)
    monkeypatch.setattr(Service, "alive", False)
    service = Service("worker", [sys.executable, "-c", "raise SystemExit(3)"])
    service.start()
    assert service.process
    service.process.wait()
    monkeypatch.setattr(Service, "start", lambda self: None)
    with pytest.raises(ServiceFailed, match="worker keeps crashing: exited with status 3"):
        up.wait_until_ready([service], [])


@pytest.mark.parametrize(("failures", "is_up"), [(2, True), (2, False), (supervisor.MAX_CRASHES + 1, True)])
def test_a_database_that_is_killed_while_it_is_prepared_is_prepared_again(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, is_up: bool
) -> None:
    settings.EMBEDDED_DATABASE, settings.LOCI_HOME = True, tmp_path
    tries = tmp_path / "tries"
    checked: list[bool] = []

    def prepare() -> None:
        with tries.open("a") as file:
            file.write("x")
        if tries.stat().st_size <= failures:
            raise OperationalError("the connection is closed") if is_up else EmbeddedPostgresError("pg_dump: closed")

    monkeypatch.setattr(up, "prepare", prepare)
    monkeypatch.setattr(up, "RESTART_INTERVAL", 0)
    monkeypatch.setattr(embedded_postgres, "is_up_in", lambda home: is_up)
    if failures > supervisor.MAX_CRASHES:
        with pytest.raises(CommandError, match="could not be prepared"):
            up.prepare_again_if_lost(lambda: checked.append(True))
    else:
        up.prepare_again_if_lost(lambda: checked.append(True))
    assert tries.stat().st_size == min(failures, supervisor.MAX_CRASHES) + 1
    assert len(checked) == min(failures, supervisor.MAX_CRASHES)


def test_what_fails_for_another_reason_is_not_prepared_again(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMBEDDED_DATABASE, settings.LOCI_HOME = True, tmp_path

    def prepare() -> None:
        raise EmbeddedPostgresError(upgrades.NO_SPACE_TO_UPGRADE)

    monkeypatch.setattr(up, "prepare", prepare)
    monkeypatch.setattr(embedded_postgres, "is_up_in", lambda home: True)
    with pytest.raises(CommandError, match="could not be prepared"):
        up.prepare_again_if_lost(pytest.fail)


def test_a_database_that_does_not_start_is_tried_again_up_to_the_limit(
    settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.EMBEDDED_DATABASE = True
    monkeypatch.setattr(up, "RESTART_INTERVAL", 0)
    outcomes: list[bool] = []  # of the next tries; without one it fails

    def restart_if_down(home: Path) -> bool:
        if not outcomes:
            raise EmbeddedPostgresError("pg_ctl: busy")
        return outcomes.pop()

    monkeypatch.setattr(embedded_postgres, "restart_if_down", restart_if_down)
    check = up.database_check()
    for after_failures in ([True], [False], [True]):
        for _ in range(supervisor.MAX_CRASHES):
            check()
        outcomes[:] = after_failures
        check()
    assert capsys.readouterr().err.splitlines() == [
        "The database did not start, and is tried again: pg_ctl: busy",
        "The database runs again.",
        "The database did not start, and is tried again: pg_ctl: busy",
        up.NO_SPACE,
        "The database did not start, and is tried again: pg_ctl: busy",
        "The database runs again.",
    ]
    for _ in range(supervisor.MAX_CRASHES):
        check()
    with pytest.raises(ServiceFailed, match="cannot be started again: pg_ctl: busy"):
        check()
