"""Real workers, killed at every stage, a queue that is emptied, a chat that is deleted: each run ends as it should."""

import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import connection

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import purge_chat
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, RunStep
from apps.extraction.reading.stages import closing_stages, separate_stages
from apps.extraction.runs.operations import request_run, resume_run
from apps.extraction.runs.queries import latest_run
from apps.extraction.settings.stores import change_settings
from tests.extraction.conftest import no_waiting as no_waiting
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import connect as connect
from tests.extraction.engine.conftest import server as server
from tests.extraction.engine.layers import Row, told
from tests.extraction.engine.story import STORY, swipe, tell
from tests.factories import UserFactory
from tests.llm.scripted_server import Reply, Request, ScriptedServer
from tests.system.processes import kill_hard

pytestmark = pytest.mark.worker

StartWorker = Callable[[], subprocess.Popen[bytes]]
PATIENCE = 2  # seconds without a heartbeat after which a run's worker counts as dead
TELLING = {
    "chunk": 6,
    "consolidate_session": 2,
    "consolidate_fact": 2,
    "summary_share": 0.1,
    "summary_tokens": 200,
    "summary_keep": 2,
    "continuity_repair": True,
}
COLLECTED = {
    0: "\nFACT(2): Mira collects maps.\nDETAIL(1): Alice collects songs.",
    2: "\nFACT(2): Mira collects shells.\nDETAIL(1): Alice collects riddles.",
    10: "\nWRONG: Mira is in Rome, but she is dead.",
}
TOLD = [text + COLLECTED.get(number, "") for number, text in enumerate(STORY[:10])] + ["Good."]
# The task that each stage asks first; what decides, where two stages ask the same.
ASKS = {
    "summary": ("summary", ""),
    "scenes": ("scene_recap", ""),
    "epistemic": ("epistemic", ""),
    "session": ("session", ""),
    "session_consolidation": ("consolidate", "songs"),
    "long_term": ("long_term", ""),
    "long_term_consolidation": ("consolidate", "shells"),
    "arcs": ("arcs", ""),
    "ledger": ("ledger", ""),
    "profiles": ("profiles", ""),
    "canon": ("canon", ""),
    "continuity": ("continuity", ""),
}


@pytest.fixture(autouse=True)
def impatient(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RUN_HEARTBEAT_TIMEOUT = PATIENCE
    monkeypatch.setenv("RUN_HEARTBEAT_TIMEOUT", str(PATIENCE))
    monkeypatch.setenv("WORKER_CONCURRENCY", "8")  # the place of one that was killed stays empty for ten seconds


@pytest.fixture
def told_by(connect: Any, transactional_db: None) -> Callable[[], Chat]:
    """A function that tells the story to somebody new, with a small model."""

    def told_by() -> Chat:
        owner: User = UserFactory()
        connect(owner, context_tokens=1024)
        change_settings(owner, TELLING)
        return tell(owner, *TOLD)

    return told_by


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


def run_of(chat: Chat) -> ExtractionRun | None:
    return latest_run(chat.owner_id, chat)


def ended(chat: Chat) -> ExtractionRun:
    """The chat's run, once it has ended; those that lose their worker are swept meanwhile."""

    def look() -> ExtractionRun | None:
        run = run_of(chat)
        if run is None or run.is_active:
            sweep_now_and_then()
            return None
        return run

    found: ExtractionRun = wait_until(look)
    return found


def sweep_now_and_then() -> None:
    """As beat does."""
    if time.monotonic() % PATIENCE < 0.03:
        tasks.sweep_runs()


def kill_at_work(worker: subprocess.Popen[bytes], server: ScriptedServer) -> None:
    """SIGKILL to the process that waits for the model; the worker starts another."""
    [at_work] = [
        child
        for child in psutil.Process(worker.pid).children()
        if any(one.raddr and one.raddr.port == server.port for one in child.net_connections())
    ]
    at_work.kill()


SILENCE = 300  # seconds, five times what a test waits


class Silence:
    """The model falls silent at the first request that a stage makes."""

    def __init__(self, server: ScriptedServer, stage: str) -> None:
        self.reached = threading.Event()
        self._task, self._about = ASKS[stage]
        server.reply_to(self._is_first, self._fall_silent)

    def _is_first(self, request: Request) -> bool:
        return (
            not self.reached.is_set() and storyteller.task_of(request) == self._task and self._about in request.prompt
        )

    def _fall_silent(self, request: Request) -> Reply:
        self.reached.set()
        return Reply(storyteller.answer(request), delay=SILENCE)


def as_it_should_be(chat: Chat) -> list[Row]:
    run = ended(chat)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)
    return told(chat)


def test_workers_killed_at_every_stage_of_a_run_cost_nothing_and_double_nothing(
    told_by: Callable[[], Chat], server: ScriptedServer, start_celery_worker: StartWorker
) -> None:
    worker = start_celery_worker()
    undisturbed = told_by()
    expected = as_it_should_be(undisturbed)
    assert set(RunStep.objects.for_owner(undisturbed.owner_id).values_list("stage", flat=True)) == set(ASKS)
    assert set(ASKS) == {stage.name for stage in (*separate_stages(), *closing_stages())}
    assert {row[0] for row in expected} == {
        "memory", "arc", "scene", "ledger", "knowledge", "relationship", "digest",
    }  # fmt: skip
    silences = {stage: Silence(server, stage) for stage in ASKS}
    chat = told_by()
    killed: dict[str, set[Any]] = {}

    def at_a_new_stage() -> str | None:
        sweep_now_and_then()
        return next((stage for stage, one in silences.items() if one.reached.is_set() and stage not in killed), None)

    while len(killed) < len(ASKS):
        stage = wait_until(at_a_new_stage)
        run = run_of(chat)
        assert run is not None
        assert (run.state, run.stage) == ("running", stage)
        killed[stage] = set(run.steps.values_list("pk", flat=True))
        kill_at_work(worker, server)
    assert as_it_should_be(chat) == expected
    steps = set(RunStep.objects.for_owner(chat.owner_id).values_list("pk", flat=True))
    assert all(finished <= steps for finished in killed.values())


def test_another_worker_goes_on_where_one_was_killed_and_sweeps_find_what_the_queue_lost(
    told_by: Callable[[], Chat], server: ScriptedServer, start_celery_worker: StartWorker
) -> None:
    silence = Silence(server, "continuity")
    worker = start_celery_worker()
    stopped = told_by()
    assert silence.reached.wait(60)
    kill_hard(worker)
    run = run_of(stopped)
    assert run is not None
    finished = set(run.steps.values_list("pk", flat=True))
    asked = len(server.requests)

    lost, waiting = told_by(), told_by()  # the change event of the first chat is lost, and the run of the second
    queued, made = request_run(waiting.owner_id, waiting)
    assert made
    empty_queue()
    start_celery_worker()
    time.sleep(PATIENCE)
    queued.refresh_from_db()
    assert (queued.state, run_of(lost)) == ("queued", None)
    assert len(server.requests) == asked
    tasks.sweep_runs()
    expected = as_it_should_be(waiting)
    assert as_it_should_be(stopped) == expected
    assert finished <= set(run.steps.values_list("pk", flat=True))
    tasks.sweep_chats()
    assert as_it_should_be(lost) == expected

    swipe(lost, 0, "FACT(2): Mira was born in a lighthouse.")
    empty_queue()
    before = run_of(lost)
    tasks.sweep_chats()
    wait_until(lambda: run_of(lost) != before)
    assert ended(lost).state == "succeeded"
    rows = told(lost)
    assert any("lighthouse" in str(row) for row in rows)
    assert not any("Port Salt" in str(row) and "active" in row for row in rows)


def empty_queue() -> None:
    with connection.cursor() as cursor:
        for queue in settings.QUEUES:
            cursor.execute(f"DELETE FROM pgmq.q_{queue}")


def test_a_run_lets_go_of_a_silent_model(
    told_by: Callable[[], Chat],
    server: ScriptedServer,
    start_celery_worker: StartWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deleted, cancelled and paused, one after the other; there is but one process that takes tasks."""
    monkeypatch.setenv("WORKER_CONCURRENCY", "1")
    worker = start_celery_worker()
    expected = as_it_should_be(told_by())
    for how, action in (("deleted", _delete), ("cancelled", jobs.cancel), ("paused", jobs.pause)):
        silence = Silence(server, "arcs")
        chat = told_by()
        assert silence.reached.wait(60), how
        run = run_of(chat)
        assert run is not None
        action(run)
        other = told_by()
        wait_until(partial(_is_under_way, other))
        assert as_it_should_be(other) == expected
        if how == "deleted":
            assert not ExtractionRun.objects.for_owner(chat.owner_id).exists()
            continue
        run.refresh_from_db()
        assert run.state == how
        if how == "cancelled":
            request_run(chat.owner_id, chat)
        else:
            resume_run(run)
        again = ended(chat)
        assert (again.state, again.pk == run.pk) == ("succeeded", how == "paused")
        assert told(chat) == expected, how
    assert worker.poll() is None


def _is_under_way(chat: Chat) -> bool:
    run = run_of(chat)
    return run is not None and run.state != "queued"


def _delete(run: ExtractionRun) -> None:
    purge_chat(run.owner_id, run.chat_id)
