"""With real workers: an imported chat is remembered by itself; a killed worker costs nothing and doubles nothing."""

import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from apps.accounts.models import User
from apps.chats.imports import import_chats
from apps.chats.models import Chat
from apps.memories import tasks
from apps.memories.memory_settings import DEFAULTS
from apps.memories.models import ExtractionRun, Memory, Passage
from tests.factories import UserFactory

pytestmark = pytest.mark.worker

StartWorker = Callable[[], subprocess.Popen[bytes]]
PATIENCE = 1  # seconds without a sign of life after which a run's worker counts as dead


def imported(owner: User, count: int) -> Chat:
    """A chat of ``count`` lines, each with something to remember, and a last one of the user's."""
    lines = [{"user_name": "Alice", "character_name": "Mira"}]
    for n in range(count):
        text = f"My cousin number {n} is called Anna{n} and moved to a village in {1700 + n} with {n + 2} dogs."
        lines.append({"name": "Mira", "is_user": False, "mes": text})
    lines.append({"name": "Alice", "is_user": True, "mes": "And now?"})
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    [chat] = import_chats(owner, file, filename="cousins.jsonl").chats
    return chat


def run_of(chat: Chat) -> ExtractionRun | None:
    return ExtractionRun.objects.for_owner(chat.owner_id).filter(chat=chat).first()


def wait_for(chat: Chat, condition: Callable[[ExtractionRun], bool], seconds: float = 60) -> ExtractionRun:
    """The chat's run, as soon as the condition holds."""
    deadline = time.monotonic() + seconds
    while not ((run := run_of(chat)) and condition(run)):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return run


def kill_hard(worker: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the worker and to the processes that it works with."""
    children = psutil.Process(worker.pid).children(recursive=True)
    for process in [worker.pid, *(child.pid for child in children)]:
        os.kill(process, signal.SIGKILL)
    worker.wait()


def test_an_imported_chat_is_remembered_by_itself(start_celery_worker: StartWorker) -> None:
    owner = UserFactory()
    chat = imported(owner, 5)
    start_celery_worker()
    run = wait_for(chat, lambda run: not run.is_active)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)
    memories = Memory.objects.for_owner(owner).filter(chat=chat)
    assert {memory.tier for memory in memories} == {"session", "long_term"}
    assert all(memory.embedding is not None for memory in memories)
    deadline = time.monotonic() + 30
    while Passage.objects.for_owner(owner).filter(chat=chat).count() < 6:
        assert time.monotonic() < deadline, "the messages are not indexed"
        time.sleep(0.05)


def test_a_run_whose_worker_was_killed_is_finished_by_another_and_nothing_is_doubled(
    start_celery_worker: StartWorker, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RUN_HEARTBEAT_TIMEOUT = PATIENCE
    monkeypatch.setenv("RUN_HEARTBEAT_TIMEOUT", str(PATIENCE))
    owner = UserFactory()
    chat = imported(owner, 20 * DEFAULTS.chunk)
    worker = start_celery_worker()
    wait_for(chat, lambda run: run.done >= 3)
    kill_hard(worker)

    stopped = run_of(chat)
    assert stopped is not None
    assert stopped.state == "running"
    assert 3 <= stopped.done < stopped.total
    already = set(stopped.steps.values_list("pk", flat=True))

    time.sleep(PATIENCE + 0.1)
    start_celery_worker()
    tasks.sweep_runs()
    run = wait_for(chat, lambda run: not run.is_active)

    assert (run.pk, run.state, run.error) == (stopped.pk, "succeeded", "")
    steps = list(run.steps.order_by("pk"))
    assert run.done == run.total == len(steps)
    assert already <= {step.pk for step in steps}
    kept = list(Memory.objects.for_owner(owner).filter(run=run).values_list("tier", "text"))
    assert len(kept) == len(set(kept))
    assert len(kept) == sum(step.counts.get(name, 0) for step in steps for name in ("passed", "superseded"))
