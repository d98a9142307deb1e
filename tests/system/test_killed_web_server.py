"""A web server that is killed under load loses no acknowledged write."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.conftest import WebServer
from tests.sync.test_concurrency import PATIENCE, Chat

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 8


def test_a_server_killed_under_load_loses_no_acknowledged_write(web_server: WebServer) -> None:
    chat = Chat(web_server)
    stop = threading.Event()
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        with chat.open() as client:
            for number in range(10_000):
                if stop.is_set():
                    return
                send_until_answered(client, f"{writer}.{number}")

    def send_until_answered(client: httpx.Client, text: str) -> None:
        message = {"name": "Alice", "is_user": True, "mes": text}
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                reply = client.post(
                    f"{chat.path}append/", json={"messages": [message]}, headers={"Idempotency-Key": text}
                )
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            assert reply.status_code == 201, reply.text
            acknowledged.append(text)
            return
        raise AssertionError("never answered")

    with ThreadPoolExecutor(WRITERS) as threads:
        writers = [threads.submit(write, n) for n in range(WRITERS)]
        for _ in range(2):
            wait_for_more(acknowledged, 60)
            web_server.kill()
            web_server.start()
        wait_for_more(acknowledged, 60)
        stop.set()
        for writer in writers:
            writer.result()
    stored = [message["mes"] for message in chat.messages()]
    assert Counter(stored) == Counter(acknowledged)


def wait_for_more(found: list[str], count: int) -> None:
    enough = len(found) + count
    deadline = time.monotonic() + PATIENCE
    while len(found) < enough:
        assert time.monotonic() < deadline, f"only {len(found)} writes"
        time.sleep(0.02)
