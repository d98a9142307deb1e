"""Processes that tests start and kill: an installation as ``manage.py up`` runs it, and workers."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from config.env import ROOT

TIMEOUT = 300  # seconds, on a busy machine
NOT_INHERITED = {"DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY", "DATABASE_POOL_SIZE"}


@dataclass
class Installation:
    """Data folder and port of an installation, and the processes of ``manage.py up``."""

    folder: Path
    port: int
    form: str = "small"
    process: subprocess.Popen[str] | None = None
    lines: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        home = str(self.folder / "home")
        return {**inherited, "LOCI_HOME": home, "LOCI_PORT": str(self.port), "LOCI_FORM": self.form, "DEMO": "off"}

    def up(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=self.environment, stderr=subprocess.PIPE, text=True
        )

    def wait_for(self, pattern: str) -> str:
        """Read the output up to a line that matches, and return it. Raises AssertionError at its end."""
        assert self.process is not None
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"{pattern!r} did not come:\n{''.join(self.lines)}")

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        self.lines.append(self.process.communicate(timeout=TIMEOUT)[1])
        return self.process.returncode

    def processes(self) -> list[psutil.Process]:
        """Return the installation's processes: services have it in their environment, Postgres in its arguments."""
        return [process for process in psutil.process_iter() if self.owns(process)]

    def services(self) -> list[psutil.Process]:
        """Return what runs besides Postgres."""
        return [process for process in self.processes() if "config" in " ".join(self.arguments(process))]

    @staticmethod
    def arguments(process: psutil.Process) -> list[str]:
        """Return a process's command line, or nothing where it has ended since it was listed."""
        with contextlib.suppress(psutil.Error):
            return process.cmdline()
        return []

    def owns(self, process: psutil.Process) -> bool:
        home = str(self.folder / "home")
        with contextlib.suppress(psutil.Error):
            return process.status() != psutil.STATUS_ZOMBIE and (
                process.environ().get("LOCI_HOME") == home or any(home in part for part in process.cmdline())
            )
        return False

    def get(self, path: str) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=TIMEOUT) as response:
            return int(response.status)


@pytest.fixture
def installation() -> Iterator[Installation]:
    folder = Path(tempfile.mkdtemp(prefix="loci-up-"))
    folder.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    installation = Installation(folder, port)
    yield installation
    for process in installation.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    shutil.rmtree(folder, ignore_errors=True)


def kill_hard(worker: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the worker and to the processes that it works with."""
    children = psutil.Process(worker.pid).children(recursive=True)
    for pid in [worker.pid, *(child.pid for child in children)]:
        os.kill(pid, signal.SIGKILL)
    worker.wait()
