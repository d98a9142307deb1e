"""One queue at a time: nobody's turn waits for what another user has started."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.db import connection

from apps.chats import operations as chat_operations
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.jobs import kinds
from apps.extraction import tasks
from apps.extraction.jobs.index_jobs import request_index_job
from apps.extraction.models import ExtractionRun, IndexJob
from apps.extraction.runs.operations import request_run
from apps.launcher.services import all_services, worker
from apps.memories.models import Passage
from tests.factories import UserFactory, make_chat, parsed
from tests.queues import drain

FACT = "My cousin number {n} is called Anna{n} and moved to a village in {year} with {n} dogs."
CATCH_UPS, MESSAGES = 6, 40


def long_chat() -> Chat:
    return make_chat(UserFactory(), *(FACT.format(n=n, year=1700 + n) for n in range(MESSAGES)))


def tasks_of_the_product() -> Iterator[str]:
    current_app.loader.import_default_modules()
    yield from (name for name in current_app.tasks if name.startswith("apps."))


def test_each_kind_of_job_is_run_by_the_queue_to_which_its_messages_go() -> None:
    queues = {kind.model.__name__: kind.queue for kind in kinds}
    assert queues == {
        "ExtractionRun": "extraction",
        "ImportJob": "indexing",
        "ScanJob": "indexing",
        "EmbeddingJob": "indexing",
        "IndexJob": "indexing",
        "Snapshot": "indexing",
        "Restore": "indexing",
    }
    routes = settings.CELERY_TASK_ROUTES
    assert set(routes) <= set(tasks_of_the_product())
    assert {route["queue"] for route in routes.values()} | {settings.CELERY_TASK_DEFAULT_QUEUE} == set(settings.QUEUES)


def test_up_runs_a_worker_for_each_queue() -> None:
    services = [worker(queue) for queue in settings.QUEUES]
    assert [service.name for service in services] == [f"{queue} worker" for queue in settings.QUEUES]
    for service, queue in zip(services, settings.QUEUES, strict=True):
        command = list(service.command)
        assert command[command.index("--queues") + 1] == queue


def test_the_small_form_has_one_process_of_workers_besides_the_web_server(settings: Any) -> None:
    settings.LOCI_FORM = "small"
    small = all_services()
    settings.LOCI_FORM = "large"
    assert [service.name for service in small] == ["worker", "web"]
    assert [service.name for service in all_services()] == [*(f"{q} worker" for q in settings.QUEUES), "beat", "web"]


@pytest.mark.django_db(transaction=True)
def test_a_new_message_is_indexed_while_nobody_works_on_imports_and_catch_ups() -> None:
    for _ in range(CATCH_UPS):
        busy = long_chat()
        request_run(busy.owner_id, busy)
        request_index_job(busy)
    chat = make_chat(UserFactory(), "The bell lies on the sand.")
    drain("interactive")
    assert Passage.objects.for_owner(chat.owner_id).filter(chat=chat).exists()
    edited = chat_operations.append_messages(chat.owner_id, chat.pk, [parsed("No, on the stone.")]).messages[0]
    drain("interactive")
    assert Passage.objects.for_owner(chat.owner_id).filter(message=edited).exists()
    assert ExtractionRun.objects.for_owner(busy.owner_id).get().state == "queued"
    assert IndexJob.objects.for_owner(busy.owner_id).get().state == "queued"


@pytest.mark.django_db(transaction=True)
def test_a_run_does_not_wait_for_all_catch_ups_of_another_user() -> None:
    busy = UserFactory()
    for _ in range(CATCH_UPS):
        chat = make_chat(busy, *(FACT.format(n=n, year=1700 + n) for n in range(MESSAGES)))
        request_run(busy, chat)
    other = make_chat(UserFactory(), *(FACT.format(n=n, year=1700 + n) for n in range(3)), "And now?")
    run, _ = request_run(other.owner_id, other)
    drain("extraction", until=lambda: not type(run).objects.for_owner(run.owner_id).get(pk=run.pk).is_active)
    run.refresh_from_db()
    assert run.state == "succeeded"
    assert ExtractionRun.objects.for_owner(busy).filter(state__in=jobs.ACTIVE_STATES).count() >= CATCH_UPS - 2


@pytest.mark.django_db(transaction=True)
def test_an_emptied_queue_is_filled_by_the_sweep(settings: Any) -> None:
    settings.RUN_HEARTBEAT_TIMEOUT = 0
    chat = make_chat(UserFactory(), "The bell lies on the sand.")
    request_index_job(chat)
    with connection.cursor() as cursor:
        for queue in settings.QUEUES:
            cursor.execute(f"DELETE FROM pgmq.q_{queue}")
    assert drain("indexing") == 0
    tasks.sweep_jobs()
    drain("indexing")
    assert Passage.objects.for_owner(chat.owner_id).filter(chat=chat).exists()
