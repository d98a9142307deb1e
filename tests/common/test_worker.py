"""The worker fixture runs a real worker, with a heartbeat."""

import subprocess
from collections.abc import Callable

import pytest
from django.test import Client

pytestmark = pytest.mark.worker


def test_a_running_worker_makes_the_installation_ready(
    start_celery_worker: Callable[[], subprocess.Popen[bytes]], client: Client
) -> None:
    start_celery_worker()

    response = client.get("/readyz/")

    assert response.json()["checks"] == {"database": True, "broker": True, "worker": True}
    assert response.status_code == 200
