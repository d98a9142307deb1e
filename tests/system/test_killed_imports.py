"""An import whose worker is killed half-way leaves nothing, and is done again."""

import datetime as dt
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.chats.models import ImportJob
from apps.exchange.tasks import request_import, sweep_import_jobs
from tests.exchange.test_import_jobs import chats_of, content, fresh, upload, wait_until
from tests.factories import UserFactory
from tests.system.processes import kill_hard


@pytest.mark.worker
def test_a_worker_killed_under_way_leaves_nothing_and_another_finishes(
    start_celery_worker: Callable[[], subprocess.Popen[bytes]], settings: Any
) -> None:
    settings.MEDIA_ROOT = settings.LOCI_HOME / "media"  # where the worker looks
    alice = UserFactory()
    first = start_celery_worker()
    job = request_import(alice, upload(content(40_000)))
    wait_until(lambda: fresh(job).state == "running" and fresh(job).messages > 0)
    assert chats_of(alice) == []
    kill_hard(first)
    assert fresh(job).state == "running"
    ImportJob.objects.for_owner(alice).update(heartbeat_at=timezone.now() - dt.timedelta(minutes=2))
    start_celery_worker()
    sweep_import_jobs()
    wait_until(lambda: fresh(job).state == "succeeded")
    [chat] = chats_of(alice)
    assert chat.message_count == chat.messages.count() == 40_000
