"""Workers beside a user's server that never answers: other users' readings and replies take no longer."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from apps.common import jobs
from apps.launcher.services import worker
from config.env import ROOT
from tests.conftest import wait_for_heartbeat
from tests.extraction.test_silent_servers import TURNS, ask_everything, connected
from tests.extraction.test_silent_servers import silent as silent
from tests.factories import make_chat
from tests.llm.scripted_server import ScriptedServer
from tests.llm.silent_server import SilentServer

CHATS = 12  # of the user whose server is silent
PATIENCE = 120.0  # seconds; the silent server holds each of its calls for longer


@pytest.fixture
def start_workers(transactional_db: None) -> Iterator[Callable[[], None]]:
    """A function that starts workers of the queues that call models, as an installation has them."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        queues = [queue for queue in settings.QUEUES if queue in ("extraction", "replies", "models")]
        for queue in queues:
            service = worker(queue)
            environment = {
                **service.environment,
                "DJANGO_SETTINGS_MODULE": "tests.settings",
                "LOCI_TEST_HOME": str(settings.LOCI_HOME),
                "LOG_LEVEL": "WARNING",
            }
            variables = {**os.environ, **environment}
            # A session of its own, as the supervisor has it: a worker lowers the priority of its whole session.
            started.append(subprocess.Popen(service.command, cwd=ROOT, env=variables, start_new_session=True))
        wait_for_heartbeat(started[-1], queues)

    yield start
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def seconds_until_ended(*asked: jobs.Job) -> float:
    began = time.monotonic()
    for job in asked:
        while job.is_active:
            assert time.monotonic() - began < PATIENCE, f"it waits for another user's server: {job.state}"
            time.sleep(0.05)
            job.refresh_from_db()
        assert job.state == "succeeded", job.error
    return time.monotonic() - began


@pytest.mark.worker
def test_another_users_silent_server_costs_no_time(
    silent: SilentServer, start_workers: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer("NONE") as server:
        good, hung = connected(f"{server.url}/v1"), connected(silent.url)
        start_workers()
        alone = seconds_until_ended(*ask_everything(make_chat(good, *TURNS)))
        held = [ask_everything(make_chat(hung, *TURNS)) for _ in range(CHATS)]
        while len(silent.calls) < 2:
            time.sleep(0.05)
        time.sleep(1)
        beside = seconds_until_ended(*ask_everything(make_chat(good, *TURNS)))
    with capsys.disabled():
        sys.stdout.write(f"\nalone {alone:.1f} s, beside {len(silent.calls)} silent calls {beside:.1f} s\n")
    for run, generation in held:
        run.refresh_from_db()
        generation.refresh_from_db()
        assert (run.is_active, generation.is_active) == (True, True)
    assert len(silent.calls) <= 2 * settings.MODEL_PLACES_OF_OWNER
