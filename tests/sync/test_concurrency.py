"""Test concurrent writes of many clients to one chat over HTTP."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import create_chat
from tests.conftest import WebServer

CLIENTS = 16
PATIENCE = 120  # seconds

pytestmark = pytest.mark.django_db(transaction=True)


class Chat:
    """A chat of a new user, accessed over HTTP."""

    def __init__(self, server: WebServer) -> None:
        owner = User.objects.create_user("alice@example.com")
        _, secret = create_token(owner, name="test")
        self.chat = create_chat(owner, title="The heist")
        self.path = f"/api/v1/chats/{self.chat.pk}/"
        self.open = lambda: httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=60, trust_env=False
        )

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with self.open() as client:
            while window := client.get(f"{self.path}messages/?from={len(found)}&limit=200").json()["results"]:
                found += window
        return found


def until_accepted(client: httpx.Client, url: str, content: dict[str, Any], integrity: str) -> httpx.Response:
    """Send a write. After a conflict, send it again with the integrity of the reply.

    If the server has closed the idle connection, send the same write again.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            reply = client.post(url, json=content | {"integrity": integrity})
        except httpx.RemoteProtocolError:
            continue
        if reply.status_code != 409:
            return reply
        assert reply.json()["changes"], reply.text
        integrity = reply.json()["current_integrity"]
        time.sleep(random.random() * 0.6)
    raise AssertionError("never accepted")


def at_once(work: Callable[[int], Any], count: int) -> list[Any]:
    """Run ``work(n)`` in ``count`` threads that start at the same time. Return the results."""
    barrier = threading.Barrier(count)

    def begin(n: int) -> Any:
        barrier.wait()
        return work(n)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begin, range(count)))


def test_clients_that_rebase_and_retry_lose_nothing_and_write_nothing_twice(web_server: WebServer) -> None:
    chat = Chat(web_server)

    def write(n: int) -> None:
        with chat.open() as client:
            message = {"name": "Alice", "is_user": True, "mes": f"{n} said"}
            appended = until_accepted(
                client, f"{chat.path}append/", {"messages": [message]}, str(chat.chat.integrity)
            ).json()
            edit = {"id": appended["appended"][0]["id"], "set": {"mes": f"{n} said and edited"}}
            reply = until_accepted(client, f"{chat.path}patch/", {"patches": [edit]}, appended["integrity"])
            assert reply.json()["applied"] == 1

    at_once(write, CLIENTS)
    messages = chat.messages()
    assert Counter(message["mes"] for message in messages) == Counter(f"{n} said and edited" for n in range(CLIENTS))
    assert [message["index"] for message in messages] == list(range(CLIENTS))
    chat.chat.refresh_from_db()
    assert chat.chat.rev == 1 + 2 * CLIENTS
    revs = list(chat.chat.changes.order_by("rev").values_list("rev", flat=True))
    assert revs == list(range(1, chat.chat.rev + 1))
