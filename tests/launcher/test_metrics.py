"""``/metrics``, and what the lines of the log have in common."""

import re
from typing import Any

import pytest
import structlog
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client

from apps.chats.models import ImportJob
from apps.common import jobs
from apps.llm.operations import record_usage
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db

LINE = re.compile(r'^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-\d.e+]+)$')


def samples(token: str) -> dict[str, float]:
    reply = Client().get("/metrics", HTTP_AUTHORIZATION=f"Bearer {token}")
    assert (reply.status_code, reply["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = reply.content.decode().splitlines()
    assert all(LINE.match(line) for line in lines), lines
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}


def test_they_are_for_who_has_the_token(settings: Any, client: Client) -> None:
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "s3cret"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", HTTP_AUTHORIZATION="Bearer other").status_code == 401


def test_what_happens_is_counted_and_what_waits_is_shown(settings: Any) -> None:
    settings.METRICS_TOKEN = "s3cret"
    owner = UserFactory()
    alice, chat = client_of(owner), make_chat(owner, "Where is the key?")
    before = samples("s3cret")
    for _ in range(2):
        alice.get("/api/v1/chats/")
    alice.post("/api/v1/memories/search/", {"query": "key"})
    body = {"integrity": "018f0000-0000-7000-8000-000000000000", "message": {"mes": "x"}}
    assert alice.post(f"/api/v1/chats/{chat.pk}/append/", body).status_code in (409, 410)
    record_usage(owner, "small", 30, 12)
    queued, ended = (ImportJob.objects.create(owner_id=owner.pk, filename="a") for _ in range(2))
    claimed = jobs.claim(ImportJob, ended.pk)
    assert claimed is not None
    jobs.end(claimed, "succeeded")

    now = samples("s3cret")
    grown = {name: value - before.get(name, 0) for name, value in now.items()}
    assert grown['loci_requests_total{view="api-chats",method="GET",status="200"}'] == 2
    assert grown['loci_request_seconds_count{view="api-chats"}'] == 2
    assert grown['loci_search_seconds_bucket{le="+Inf"}'] == 1
    # By its type: a page that a test before left open may have problems of its own.
    assert grown['loci_problems_total{type="/problems/integrity-conflict"}'] == 1
    assert grown["loci_model_calls_total"] == 1
    assert grown['loci_model_tokens_total{direction="sent"}'] == 30
    assert grown['loci_jobs_ended_total{kind="importjob",state="succeeded"}'] == 1
    assert now['loci_jobs{kind="importjob",state="queued"}'] == 1
    assert now['loci_jobs_oldest_seconds{kind="importjob"}'] >= 0
    assert {f'loci_queue_messages{{queue="{queue}"}}' for queue in settings.QUEUES} <= now.keys()
    assert queued.pk != ended.pk


@pytest.mark.django_db(transaction=True)
def test_a_request_its_tasks_and_their_jobs_have_ids_in_the_log() -> None:
    owner = UserFactory()
    chat = make_chat(owner)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pgmq.purge_queue(name) FROM unnest(%s::text[]) AS name", [list(django_settings.QUEUES)])
    reply = client_of(owner).post(f"/api/v1/chats/{chat.pk}/append/", {"force": True, "message": {"mes": "x"}})
    with connection.cursor() as cursor:
        cursor.execute("SELECT message::text FROM pgmq.read('interactive', 0, 10)")
        messages = [row[0] for row in cursor.fetchall()]
        cursor.execute("SELECT pgmq.purge_queue(name) FROM unnest(%s::text[]) AS name", [list(django_settings.QUEUES)])
    assert reply["X-Request-ID"]
    assert any(reply["X-Request-ID"] in message for message in messages), messages

    job = ImportJob.objects.create(owner_id=owner.pk, filename="a")
    jobs.claim(ImportJob, job.pk)
    assert structlog.contextvars.get_contextvars()["job"] == f"importjob {job.pk}"
    structlog.contextvars.unbind_contextvars("job")
