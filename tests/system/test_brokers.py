"""The queues may be in Redis: what clients write reaches the workers."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from redis import Redis

from apps.accounts.operations import create_token
from apps.extraction.models import ExtractionRun
from apps.memories.models import Passage
from tests.conftest import WebServer, run_worker, wait_for_heartbeat
from tests.factories import UserFactory

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]
TIMEOUT = 120.0  # seconds, on a busy machine


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


@pytest.fixture
def redis_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a Redis server, which is the broker of processes that the test starts."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = subprocess.Popen([program, *options, "--loglevel", "warning"])
    url = f"redis://127.0.0.1:{port}/0"
    monkeypatch.setenv("CELERY_BROKER_URL", url)
    yield url
    server.kill()
    server.wait()


@pytest.fixture
def redis_worker(redis_url: str) -> Iterator[None]:
    """A worker of all queues."""
    worker = run_worker(settings.QUEUES)
    wait_for_heartbeat(worker, settings.QUEUES)
    yield
    worker.kill()
    worker.wait()


@pytest.fixture
def server(redis_url: str) -> Iterator[WebServer]:
    server = WebServer()
    server.start()
    yield server
    server.kill()


def test_messages_are_indexed_and_read_by_workers_behind_redis(
    server: WebServer, redis_worker: None, redis_url: str
) -> None:
    owner = UserFactory()
    headers = {"Authorization": f"Bearer {create_token(owner, name='test')[1]}"}
    with httpx.Client(base_url=f"{server.url}/api/v1/", headers=headers, trust_env=False, timeout=60) as client:
        chat = client.post("chats/", json={"title": "A", "user_name": "Alice"}).raise_for_status().json()
        lines = [f"Mira hid copper key {n} in the old mill." for n in range(60)]
        messages = [{"name": "Alice", "is_user": True, "mes": line} for line in lines]
        body = {"integrity": chat["integrity"], "messages": messages}
        client.post(f"chats/{chat['id']}/append/", json=body).raise_for_status()
        ready = httpx.get(f"{server.url}/readyz/", trust_env=False).json()
    assert ready["checks"] == {"database": True, "broker": True, "worker": True}
    wait_until(lambda: Passage.objects.for_owner(owner).count() == len(lines))
    wait_until(lambda: ExtractionRun.objects.for_owner(owner).filter(state="succeeded").exists())
    with Redis.from_url(redis_url) as redis:
        assert {"cmdstat_lpush", "cmdstat_brpop"} <= redis.info("commandstats").keys()
