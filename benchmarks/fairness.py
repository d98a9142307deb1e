"""Waiting time of a user while another one's imports of 100 MB and 50 catch-ups run, all by the built-in backend.

A new message must be found by search within 2 s and extracted within 30 s. All processes run as ``manage.py up`` runs
them, except for the embedded database, which runs already.
"""

import io
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import psutil

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import ImportJob
from apps.exchange.chats.imports import import_chats
from apps.exchange.tasks import request_import
from apps.extraction.models import ExtractionRun
from apps.launcher.supervisor import Service
from benchmarks.imports import upload, write_chat
from benchmarks.services import installation, wait_until

IMPORTS = 5  # one after the other, so that one of them runs all the time
CATCH_UPS, MESSAGES = 50, 100
ROUNDS = 10
PLACES = ("harbour", "lighthouse", "old mill", "ferry house", "market hall")


def main() -> None:
    """Run the load and print how long the other user waits."""
    busy, waiting = (User.objects.create_user(f"bench-fairness-{name}@example.com") for name in ("busy", "waiting"))
    _, secret = create_token(waiting, name="bench")
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        write_chat(file)
        url, services = stack.enter_context(installation())
        headers = {"Authorization": f"Bearer {secret}"}
        client = stack.enter_context(
            httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=60, trust_env=False)
        )
        for _ in range(IMPORTS):
            request_import(busy, upload(file))
        for number in range(CATCH_UPS):
            import_chats(busy, io.BytesIO(_chat(number)), filename="catch-up.jsonl")
        rounds = list(_rounds(client, busy))
        memory = {service.name: _memory(service) // 2**20 for service in services}
    print(f"recalled after {_figures([recalled for recalled, _ in rounds])} (target: 2 s)")
    print(f"extracted after {_figures([extracted for _, extracted in rounds])} (target: 30 s)")
    shares = ", ".join(f"{name} {megabytes}" for name, megabytes in memory.items())
    print(f"memory besides the database: {sum(memory.values())} MB ({shares})")


def _chat(number: int) -> bytes:
    """Return a chat in which a memory is found every few messages."""
    lines: list[dict[str, Any]] = [{"user_name": "Alice", "character_name": f"Mira {number}"}]
    for n in range(MESSAGES):
        text = f"My cousin Anna{n} moved to the {PLACES[n % 5]} in {1700 + n} with {n + 2} dogs and a boat."
        lines.append({"name": "Alice" if n % 2 else "Mira", "is_user": bool(n % 2), "mes": text})
    return "\n".join(map(json.dumps, lines)).encode()


def _rounds(client: httpx.Client, busy: User) -> Iterator[tuple[float, float]]:
    """Yield the seconds until a new message is found and until it is extracted, for each round."""
    chat = client.post("chats/", json={"title": "Waiting"}).json()["id"]
    for number in range(ROUNDS):
        recalled, extracted = _round(client, chat, number)
        imports, catch_ups = (table.objects.for_owner(busy).active().count() for table in (ImportJob, ExtractionRun))
        print(
            f"round {number + 1}: recalled after {recalled:.1f} s, extracted after {extracted:.1f} s; the other "
            f"user has {imports} imports and {catch_ups} catch-ups left",
            flush=True,
        )
        yield recalled, extracted


def _round(client: httpx.Client, chat: str, number: int) -> tuple[float, float]:
    """Append messages and wait. Return the seconds until the first is found and until it is extracted."""
    name = f"Bertram{number}"
    texts = [f"My uncle {name} sold the {PLACES[number % 5]} to Captain Hale for a violin.", "Did he?", "He did."]
    messages = [
        {"name": "Mira" if n % 2 else "Alice", "is_user": n % 2 == 0, "mes": text} for n, text in enumerate(texts)
    ]
    started = time.monotonic()
    client.post(f"chats/{chat}/append/", json={"messages": messages, "force": True}).raise_for_status()
    query = {"query": f"What did {name} sell?", "chat": chat, "tiers": ["messages"], "limit": 5}
    wait_until(lambda: name in client.post("memories/search/", json=query).text)
    recalled = time.monotonic() - started
    wait_until(lambda: name in client.get("memories/", params={"chat": chat}).text)
    return recalled, time.monotonic() - started


def _figures(seconds: list[float]) -> str:
    return f"{sorted(seconds)[len(seconds) // 2]:.1f} s (median), {max(seconds):.1f} s (longest of {len(seconds)})"


def _memory(service: Service) -> int:
    """Return the memory of the service's processes in bytes; what processes share is divided among them."""
    assert service.process
    parent = psutil.Process(service.process.pid)
    return sum(process.memory_full_info().pss for process in [parent, *parent.children(recursive=True)])
