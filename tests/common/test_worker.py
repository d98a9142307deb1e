"""The worker fixture runs a real worker, with a heartbeat."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from django.test import Client

from config.env import ROOT

pytestmark = pytest.mark.worker


def test_a_running_worker_makes_the_installation_ready(kept_celery_worker: Callable[..., None], client: Client) -> None:
    kept_celery_worker()

    response = client.get("/readyz/")

    assert response.json()["checks"] == {"database": True, "broker": True, "worker": True}
    assert response.status_code == 200


def test_a_worker_of_low_priority_gives_way_to_other_sessions_too() -> None:
    program = (
        "from pathlib import Path; from config.celery import apply_niceness_to_session; apply_niceness_to_session();"
        "group = Path('/proc/self/autogroup'); print(group.read_text() if group.exists() else 'nice 7')"
    )
    command = ["nice", "-n", "7", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, start_new_session=True, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["nice", "7"]
