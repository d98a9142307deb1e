"""Liveness and readiness probes."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils.timezone import now

from apps.common.health import record_heartbeat
from apps.common.models import Lease


def test_liveness_has_no_dependencies(client: Client) -> None:
    assert client.get("/healthz/").json() == {"status": "ok"}


def test_health_is_read_only(client: Client) -> None:
    assert client.post("/healthz/").status_code == 405


@pytest.mark.django_db
def test_not_ready_without_a_worker(client: Client) -> None:
    response = client.get("/readyz/")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": True, "broker": True, "worker": False}


@pytest.mark.django_db
def test_ready_once_each_queue_has_a_worker(client: Client) -> None:
    *others, last = settings.QUEUES
    record_heartbeat(others)
    assert client.get("/readyz/").json()["checks"]["worker"] is False

    record_heartbeat([last])
    assert client.get("/readyz/").status_code == 200


@pytest.mark.django_db
def test_an_old_heartbeat_does_not_count(client: Client) -> None:
    record_heartbeat(settings.QUEUES)
    Lease.objects.filter(key="worker indexing").update(ends=[now()])

    assert client.get("/readyz/").json()["checks"]["worker"] is False
