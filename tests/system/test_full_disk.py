"""An installation on a disk that fills, is full, and has space again: nothing acknowledged is lost, reading goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.env import ROOT
from tests.system.processes import TIMEOUT, Installation
from tests.system.processes import installation as installation
from tests.system.test_database_restart import TOKEN, postmaster, shell

pytestmark = pytest.mark.worker

SIZE = "400m"
MEGABYTE = 1024 * 1024


@pytest.fixture
def small_disk(installation: Installation) -> Iterator[Path]:
    """Mount a small file system where the installation has its data."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("Only root can mount a small disk.")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", installation.folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"A small disk can't be mounted here: {mounted.stderr.decode().strip()}")
    yield installation.folder
    for process in installation.processes():
        process.kill()
    subprocess.run(["umount", "--lazy", installation.folder], check=True)


class Writer(threading.Thread):
    """Somebody who writes messages all the time, and notes what was acknowledged and refused."""

    def __init__(self, url: str, secret: str) -> None:
        super().__init__(daemon=True)
        self._url, self._secret = f"{url}/api/v1", secret
        self.chat = self.call("POST", "/chats/", {"title": "Full"})[1]["id"]
        self.acknowledged: list[str] = []
        self.refused: list[tuple[int, str]] = []
        self.done = threading.Event()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and document; a status of 0 for a server that isn't reached."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)
        except OSError:
            return 0, {}

    def run(self) -> None:
        number = 0
        while not self.done.wait(0.05):
            number += 1
            text = f"Message {number}: " + "the tide is out. " * 2000
            status, answer = self.call(
                "POST", f"/chats/{self.chat}/append/", {"force": True, "message": {"mes": text, "is_user": True}}
            )
            if status == 201:
                self.acknowledged.append(text)
            else:
                self.refused.append((status, answer.get("type", "")))

    def texts(self) -> list[str]:
        """Return what is stored."""
        found: list[str] = []
        while True:
            status, page = self.call("GET", f"/chats/{self.chat}/messages/?from={len(found)}&limit=100")
            assert status == 200, page
            found += [message["mes"] for message in page["results"]]
            if len(found) >= page["total"]:
                return found


def eventually(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def fill(disk: Path) -> None:
    """Write files, as another program might, until there is no space."""
    with (disk / f"filler-{time.monotonic_ns()}").open("wb", buffering=0) as file:
        for size in (MEGABYTE, 4096):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass


def readiness(installation: Installation) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{installation.port}/readyz/", timeout=60) as response:
            return str(json.load(response)["disk"])
    except urllib.error.HTTPError as error:
        with error:
            return str(json.load(error)["disk"])


def test_nothing_is_lost_on_a_full_disk(
    installation: Installation, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISK_WARNING_MEGABYTES", "100")
    monkeypatch.setenv("DISK_FULL_MEGABYTES", "64")  # more than the reserve
    installation.up()
    installation.wait_for("Loci is ready")
    assert installation.process is not None
    assert installation.process.stderr is not None
    threading.Thread(target=lambda: installation.lines.extend(installation.process.stderr), daemon=True).start()  # type: ignore[union-attr,arg-type]
    reserve = (small_disk / "home" / "postgres" / "reserve").resolve()
    eventually(reserve.exists, "no space was set aside")
    assert readiness(installation) == "ok"
    writer = Writer(f"http://127.0.0.1:{installation.port}", shell(installation, TOKEN))
    writer.start()
    eventually(lambda: len(writer.acknowledged) > 3, "nothing was stored")

    fill(small_disk)
    eventually(lambda: (503, "/problems/disk-full") in writer.refused, f"no write was refused for it: {writer.refused}")
    assert readiness(installation) == "full"
    eventually(lambda: not reserve.exists(), "the reserve was kept")
    assert set(writer.acknowledged) <= set(writer.texts())

    # Without any space, not even the reserve's, and with a database that has to start.
    fill(small_disk)
    os.kill(postmaster(installation).pid, signal.SIGKILL)
    eventually(lambda: any("has stopped, since the disk is full" in line for line in installation.lines), "not told")
    assert writer.call("GET", f"/chats/{writer.chat}/messages/")[0] == 503
    assert installation.process.poll() is None

    for file in small_disk.glob("filler-*"):
        file.unlink()
    before = len(writer.acknowledged)
    eventually(lambda: len(writer.acknowledged) > before + 3, "writes were not taken up again")
    writer.done.set()
    writer.join()
    stored = writer.texts()
    assert set(writer.acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))
    assert {status for status, _ in writer.refused} <= {0, 503}
    integrity = subprocess.run(
        [sys.executable, "manage.py", "check_integrity"],
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
    )
    assert integrity.returncode == 0, integrity.stdout + integrity.stderr
    assert installation.stop() == 0
