"""The real client of mem0: ``make e2e-clients``, which installs it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.accounts.models import User
from apps.accounts.operations import create_token
from tests.conftest import WebServer

PYTHON = os.environ.get("LOCI_TEST_MEM0", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make e2e-clients installs mem0ai and sets its Python.")


def test_every_call_of_both_clients(web_server: WebServer, kept_celery_worker: Callable[..., None]) -> None:
    kept_celery_worker("interactive", "extraction")
    _, secret = create_token(User.objects.create_user("alice@example.com"), name="mem0")
    script = Path(__file__).with_name("mem0_calls.py")
    command = [PYTHON, script, f"{web_server.url}/mem0", secret]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    print(ended.stdout)
    done = json.loads(ended.stdout.splitlines()[-1])
    assert done["extracted"]
    assert done["history"] == ["ADD", "UPDATE"]
    assert done["async"] == 8
