"""With real workers: tests of models and new vectors in the background, and what a killed worker leaves of them."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from apps.extraction import tasks
from apps.extraction.models import EmbeddingJob, ModelTest
from apps.extraction.suitability.model_tests import request_model_test
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Memory
from tests.factories import UserFactory, make_chat, make_memory
from tests.llm.scripted_server import Reply, ScriptedServer
from tests.system.processes import kill_hard

pytestmark = pytest.mark.worker

StartWorker = Callable[[], subprocess.Popen[bytes]]
MEMORIES = 100


def wait_for(job: Any, condition: Callable[[Any], bool], seconds: float = 60) -> None:
    """Until the condition holds for the job."""
    deadline = time.monotonic() + seconds
    while not condition(job):
        assert time.monotonic() < deadline, f"nothing happened: {job.state}, {job.done} of {job.total}, {job.error}"
        time.sleep(0.05)
        job.refresh_from_db()


def test_work_that_a_killed_worker_leaves_is_finished_or_fails_with_a_reason(start_celery_worker: StartWorker) -> None:
    owner = UserFactory()
    chat = make_chat(owner)
    with ScriptedServer("NONE") as server:
        given = {"base_url": f"{server.url}/v1", "model": "small", "embedding_model": "scripted-vectors"}
        connection = create_connection(owner, name="Scripted", **given)
        for number in range(MEMORIES):
            make_memory(chat, f"Memory number {number}.")
        stalling = [True]
        server.reply_to(lambda request: request.number > 3 and stalling[0], Reply("NONE", delay=60))
        worker = start_celery_worker()
        use_for(connection, embeddings=True)
        [job] = EmbeddingJob.objects.for_owner(owner)
        wait_for(job, lambda job: job.state == "running" and job.done > 0)
        test = request_model_test(owner, connection)
        wait_for(test, lambda test: test.state == "running")
        kill_hard(worker)
        job.refresh_from_db()
        assert 0 < job.done < MEMORIES
        stalling[0] = False
        with override_settings(RUN_HEARTBEAT_TIMEOUT=0):
            tasks.sweep_jobs()
        test.refresh_from_db()
        assert test.state == "failed"
        assert "Start the test again" in test.error
        EmbeddingJob.objects.for_owner(owner).update(heartbeat_at=None)  # silent for a minute
        start_celery_worker()
        again = request_model_test(owner, None)
        wait_for(again, lambda test: test.state == "succeeded")
        wait_for(job, lambda job: job.state == "succeeded")
    models = set(Memory.objects.for_owner(owner).values_list("embedding_model", flat=True))
    assert models == {connection.vector_space}
    assert ModelTest.objects.for_owner(owner).filter(state="succeeded").count() == 1
