"""The product as `manage.py up` runs it: its database dies and comes back under a run, which ends as it should."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import psutil
import pytest

from config.env import ROOT
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import server as server
from tests.extraction.engine.story import STORY
from tests.llm.scripted_server import Reply, Request, ScriptedServer
from tests.system.processes import Installation
from tests.system.processes import installation as installation

pytestmark = pytest.mark.worker

TIMEOUT = 300  # seconds: on a slow machine with three tests at a time an undisturbed run took more than 90
TOKEN = """
from apps.accounts.models import User
from apps.accounts.operations import create_token
print(create_token(User.objects.create_user("alice@example.com", "alice-password"), name="test")[1])
"""
SWEEP = "from apps.extraction.tasks import sweep_runs; sweep_runs()"
QUIET = {"index_messages": False, "chunk": 5, "reading": "separate"}


class Client:
    """Somebody who uses the installation over HTTP."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = f"{url}/api/v1", token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def tell(self) -> str:
        """A chat that is remembered by itself; its id."""
        character = self.call("POST", "/characters/", {"name": f"Mira{time.monotonic_ns()}"})
        chat = self.call("POST", "/chats/", {"title": "The quay", "character": character["id"], "user_name": "Alice"})
        said = [{"name": "Mira", "is_user": n % 2 == 0, "mes": text} for n, text in enumerate([*STORY[:9], "Good."])]
        self.call("POST", f"/chats/{chat['id']}/append/", {"messages": [*said, {"is_user": True, "mes": "Yes."}]})
        return str(chat["id"])

    def run_of(self, chat: str) -> dict[str, Any] | None:
        try:
            found = self.call("GET", "/runs/")["results"]
        except (OSError, urllib.error.HTTPError):
            return None  # the database is away
        return next((run for run in found if run["chat"] == chat), None)

    def memories_of(self, chat: str) -> list[tuple[str, ...]]:
        rows = self.call("GET", f"/memories/?chat={chat}&limit=200")["results"]
        return sorted((row["tier"], row["kind"], row["text"], row["state"]) for row in rows)

    def ended(self, chat: str, installation: Installation) -> dict[str, Any]:
        deadline = time.monotonic() + TIMEOUT
        while not (run := self.run_of(chat)) or run["state"] in ("queued", "running"):
            assert time.monotonic() < deadline, run
            time.sleep(1)
            if int(deadline - time.monotonic()) % 5 == 0:
                shell(installation, SWEEP)
        return run


def shell(installation: Installation, code: str) -> str:
    """What a script prints that runs in the installation."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    environment = installation.environment | {"LOG_LEVEL": "ERROR"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout.strip()


def postmaster(installation: Installation) -> psutil.Process:
    pid_file = installation.folder / "home" / "postgres" / "data" / "postmaster.pid"
    return psutil.Process(int(pid_file.read_text().split()[0]))


def wait_for_another(installation: Installation, old: psutil.Process) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            if postmaster(installation).pid != old.pid:
                return
        except (OSError, IndexError, ValueError, psutil.NoSuchProcess):
            pass
        assert time.monotonic() < deadline, "the database did not come back"
        time.sleep(0.2)


def test_a_run_goes_on_after_its_database_was_killed_and_restarted(
    installation: Installation,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUN_HEARTBEAT_TIMEOUT", "2")
    monkeypatch.setenv("LLM_ALLOWED_ADDRESSES", "127.0.0.0/8")
    monkeypatch.setenv("WEB_CONCURRENCY", "1")
    installation.up()
    installation.wait_for("Loci is ready")
    assert installation.process is not None
    assert installation.process.stderr is not None
    threading.Thread(target=installation.process.stderr.read, daemon=True).start()
    client = Client(f"http://127.0.0.1:{installation.port}", shell(installation, TOKEN))
    connection: dict[str, Any] = {
        "name": "Scripted",
        "backend": "openai",
        "base_url": f"{server.url}/v1",
        "model": "storyteller",
        "parallel_calls": 16,  # a killed process holds its place for half a minute
    }
    connection |= {"embedding_model": "scripted-vectors", "for_generation": True, "for_embeddings": True}
    client.call("POST", "/connections/", connection)
    client.call("PATCH", "/memory-settings/", QUIET)
    undisturbed = client.tell()
    run = client.ended(undisturbed, installation)
    assert (run["state"], run["error"]) == ("succeeded", "")

    reached = {task: threading.Event() for task in ("session", "ledger")}
    for task, event in reached.items():
        server.reply_to(_first(task, event), _slowly(event))
    chat = client.tell()
    for task, signum in (("session", signal.SIGKILL), ("ledger", signal.SIGINT)):  # a crash, a restart
        while not reached[task].wait(3):
            shell(installation, SWEEP)
        old = postmaster(installation)
        os.kill(old.pid, signum)
        wait_for_another(installation, old)
    run = client.ended(chat, installation)
    assert (run["state"], run["error"], run["done"]) == ("succeeded", "", run["total"])
    assert client.memories_of(chat) == client.memories_of(undisturbed)
    assert installation.process.poll() is None


def _first(task: str, event: threading.Event) -> Any:
    return lambda request: not event.is_set() and storyteller.task_of(request) == task


def _slowly(event: threading.Event) -> Any:
    def answer(request: Request) -> Reply:
        event.set()
        return Reply(storyteller.answer(request), delay=8)

    return answer
