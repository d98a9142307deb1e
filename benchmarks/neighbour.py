"""Times of one user's requests while another user sends the worst that is known, beside those without.

Target: the 95th percentiles of list, append, search and prompt below 3 times those of the quiet installation. The
limits of requests are those of an installation that others can reach.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import httpx

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import create_character, create_chat
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Memory
from benchmarks.services import installation
from benchmarks.timing import interleaved, summary

ROUNDS = int(os.environ.get("NEIGHBOUR_ROUNDS", "60"))
MAX_RATIO = 3
MODEL_SECONDS = 30.0  # before the slow model server replies
LIMITS = {
    "RATE_LIMIT_API": "1200/m",
    "RATE_LIMIT_SEARCH": "300/m",
    "RATE_LIMIT_GENERATION": "60/m",
    "RATE_LIMIT_IMPORTS": "300/h",
    "RATE_LIMIT_BODIES": "120/m",
    "REQUESTS_AT_ONCE": "8",
    "LLM_ALLOWED_ADDRESSES": "private",
    "LOG_LEVEL": "ERROR",
}
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand."


def main() -> None:
    """Measure the requests of a user twice: alone, and beside the attacker."""
    neighbour, attacker = (User.objects.create_user(f"bench-neighbour-{name}@example.com") for name in ("a", "b"))
    chat = _filled_chat(neighbour)
    with _slow_model() as model, installation(LIMITS) as (url, _):
        connection = create_connection(attacker, name="slow", backend="openai", base_url=model, model="slow")
        use_for(connection, generation=True)
        with _client(url, neighbour) as client:
            calls = _calls(client, chat)
            interleaved(calls, 5)
            quiet = interleaved(calls, ROUNDS)
            answers: Counter[str] = Counter()
            with _attack(url, create_token(attacker, name="bench")[1], str(connection.pk), answers):
                time.sleep(3)
                beside = interleaved(calls, ROUNDS)
    print(f"answers to the attacker: {dict(sorted(answers.items()))}")
    for name in calls:
        ratio = _p95(beside[name]) / _p95(quiet[name])
        print(f"{name:7} quiet: {summary(quiet[name])} | beside: {summary(beside[name])} | p95 ratio {ratio:.2f}")
    print(f"target: each ratio below {MAX_RATIO}")


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _filled_chat(owner: User) -> str:
    character = create_character(owner, name="Mira")
    chat = create_chat(owner, title="Quiet", character=character, user_name="Alice")
    rows = [
        Memory(
            owner_id=owner.pk,
            chat=chat,
            story=chat.story,
            character=character,
            tier="long_term",
            kind="fact",
            text=f"{n}: {TEXT}",
        )
        for n in range(500)
    ]
    Memory.objects.bulk_create(rows)
    return str(chat.pk)


def _client(url: str, user: User) -> httpx.Client:
    _, secret = create_token(user, name="bench")
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=120, trust_env=False)


def _calls(client: httpx.Client, chat: str) -> dict[str, Callable[[], object]]:
    message = {"name": "Alice", "is_user": True, "mes": TEXT}
    sends: dict[str, Callable[[], httpx.Response]] = {
        "list": lambda: client.get("chats/"),
        "append": lambda: client.post(f"chats/{chat}/append/", json={"messages": [message]}),
        "search": lambda: client.post("memories/search/", json={"query": "Where was the bell?", "chat": chat}),
        "prompt": lambda: client.post(f"chats/{chat}/prompt/", json={}),
    }
    return {name: lambda send=send: send().raise_for_status() for name, send in sends.items()}


@contextmanager
def _attack(url: str, secret: str, connection: str, answers: Counter[str]) -> Iterator[None]:
    """Run the attacker, a process of its own, until the block ends. Count the answers by their status."""
    # What the attacker's own program needs is no load of the installation: it gives way, and has a session of its own.
    command = ["nice", "-n", "19", sys.executable, "-m", "benchmarks.attacks", url, secret, connection]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        output, _ = process.communicate()  # it stops once its input is closed
        answers.update(json.loads(output))


class _SlowModel(BaseHTTPRequestHandler):
    """Model server that replies late."""

    closing = Event()

    def do_GET(self) -> None:
        """Wait, then fail."""
        self.closing.wait(MODEL_SECONDS)
        self.send_error(500)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def _slow_model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _SlowModel)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        _SlowModel.closing.set()
        server.shutdown()
