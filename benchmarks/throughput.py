"""Writes a second of 16 concurrent HTTP clients, each in its own chat."""

import os
import signal
import socket
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from django.conf import settings
from django.test import override_settings

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import create_chat
from apps.launcher.services import web

CLIENTS, SECONDS = 16, 10
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. " * 4


def main() -> None:
    """Start a web server, run the clients and print the rate."""
    owner = User.objects.create_user("bench-throughput@example.com")
    _, secret = create_token(owner, name="bench")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with override_settings(LOCI_HOST="127.0.0.1", LOCI_PORT=port):
        command = web().command
    server = subprocess.Popen(command, env=os.environ, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url)
        chats = [str(create_chat(owner, title=f"Client {n}").pk) for n in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as threads:
            started = time.monotonic()
            counts = sum(threads.map(lambda chat: _write(url, secret, chat, started + SECONDS), chats), Counter())
            seconds = time.monotonic() - started
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()
    failed = counts.pop("failed", 0)
    rate = sum(counts.values()) / seconds
    print(f"{CLIENTS} clients, {settings.WEB_CONCURRENCY} web processes: {rate:.0f} writes a second")
    print(f"{dict(counts)} in {seconds:.1f} s, {failed} failed")


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{url}/healthz/", trust_env=False)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the web server does not answer")


def _write(url: str, secret: str, chat: str, until: float) -> Counter[str]:
    """Append and edit alternately until ``until``. Return the number of each call and of failures."""
    counts: Counter[str] = Counter()
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=f"{url}/api/v1/chats/{chat}/", headers=headers, timeout=60, trust_env=False) as client:
        state = client.post("append/", json={"message": {"name": "Alice", "is_user": True, "mes": TEXT}}).json()
        while time.monotonic() < until:
            number = sum(counts.values())
            call: str = "patch" if number % 2 else "append"
            body: dict[str, Any] = {"message": {"name": "Alice", "is_user": True, "mes": f"{number} {TEXT}"}}
            if call == "patch":
                body = {"patches": [{"index": 0, "set": {"mes": f"{number} {TEXT}"}}]}
            reply = client.post(f"{call}/", json=body | {"integrity": state["integrity"]})
            counts["failed" if reply.is_error else call] += 1
            state = state if reply.is_error else reply.json()
    return counts
