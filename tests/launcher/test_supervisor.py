"""How the supervisor starts the programs of an installation."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.launcher.services import all_services, one_worker, worker
from apps.launcher.supervisor import Service

PRINT_PRIORITY = 'import os, sys; open(sys.argv[1], "w").write(str(os.getpriority(os.PRIO_PROCESS, 0)))'


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
