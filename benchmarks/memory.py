"""Memory of a web process over requests of all kinds, and of the small form's worker over extracted messages.

MEMORY_REQUESTS and MEMORY_MESSAGES say how many. Several clients send at a time, and several users' chats are read.
Target: after the first 2,000 of each it grows by no more than a tenth.
"""

import io
import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx
import psutil
from django.conf import settings
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import create_character
from apps.common.pages.static_files import collect_if_changed
from apps.common.scoping import system_scope
from apps.exchange.chats.imports import import_chats
from apps.extraction.models import ExtractionRun
from apps.extraction.runs.operations import start_run
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Memory
from benchmarks.proxy import ModelServer
from benchmarks.services import small_worker, wait_until, web_server
from config.env import ROOT

REQUESTS, MESSAGES = (int(os.environ.get(f"MEMORY_{name}", "20000")) for name in ("REQUESTS", "MESSAGES"))
EACH = 1000  # of them, after which a line is printed
WARM_UP, MOST_GROWTH = 2000, 1.1
MOST_SECONDS = 3600  # in which a thousand messages must have been read, on a busy machine
CLIENTS = 8
READERS, CHAT = 4, 100  # users whose chats are read, and messages of a chat
PLACES = ("harbour", "lighthouse", "old mill", "ferry house", "market hall")
READS = (
    *("chats/", "characters/", "memories/", "memories/tombstones/", "entities/", "graph/", "journal/", "settings/"),
    *("memory-settings/", "injection-settings/", "generation-presets/", "runs/", "snapshots/", "usage/"),
)
READS_OF_CHAT = (
    *("", "messages/", "changes/?since=0", "summary/", "arcs/", "ledger/", "epistemic/", "extract/", "export/"),
    *("recalls/", "scenes/", "memory-export/", "recap/"),
)
TURNS = 60  # messages after which a client begins another chat, so that replies don't grow
WORDS = re.findall(r"[\w'’]+", " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))))


class Person:
    """Client of a user who reads and writes by the API, on pages and through the proxy."""

    def __init__(self, url: str, number: int) -> None:
        self._random = random.Random(number)
        owner = User.objects.create_user(f"bench-memory-{number}@example.com")
        self.character = str(create_character(owner, name="Mira").pk)
        _connect(owner)
        token, browser = create_token(owner, name="bench")[1], Client()
        browser.force_login(owner)
        session = browser.cookies[settings.SESSION_COOKIE_NAME].value
        self._client = httpx.Client(base_url=url, timeout=120, trust_env=False)
        self._bearer = {"Authorization": f"Bearer {token}"}
        self._cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}"}
        self.answers: Counter[int] = Counter()
        self._begin()

    def send(self) -> None:
        """Send a request of some kind."""
        if self.size > TURNS:
            self._begin()
        self._random.choice(self._kinds())()

    def _begin(self) -> None:
        chat = self._api("post", "chats/", json={"title": self._text(4), "character": self.character})
        self.chat, self.size, self.messages = chat.json()["id"], 0, list[str]()
        self._append()

    def _kinds(self) -> list[Callable[[], object]]:
        chat = f"chats/{self.chat}/"
        pages = [
            "/",
            f"/chats/{self.chat}/",
            "/memories/",
            "/memories/search/?q=" + self._text(3),
            "/settings/",
            "/journal/",
        ]
        writes = [self._append] * 5 + [self._edit] * 4 + [self._remember] * 3 + [self._import]
        return [
            *(partial(self._api, "get", path) for path in (*READS, *(chat + part for part in READS_OF_CHAT))),
            *(partial(self._page, path) for path in pages),
            *writes,
            *[self._search] * 6,
            *[self._prompt] * 4,
            *[self._complete] * 3,
        ]

    def _append(self) -> None:
        texts = [self._text(self._random.randint(3, 120)) for _ in range(2)]
        messages = [{"name": "M", "is_user": number == 0, "mes": text} for number, text in enumerate(texts)]
        answer = self._api("post", f"chats/{self.chat}/append/", json={"messages": messages})
        self.messages += [row["id"] for row in answer.json()["appended"]]
        self.size += 2

    def _edit(self) -> None:
        patch = {"id": self._random.choice(self.messages), "set": {"mes": self._text(40)}}
        self._api("post", f"chats/{self.chat}/patch/", json={"patches": [patch], "force": True})

    def _remember(self) -> None:
        text = self._text(self._random.randint(4, 40))
        memory = {"chat": self.chat, "tier": "long_term", "kind": "fact", "text": text}
        self._api("post", "memories/", json=memory)

    def _import(self) -> None:
        lines: list[dict[str, Any]] = [{"user_name": "Alice", "character_name": "Mira"}]
        lines += [{"name": "Mira", "is_user": False, "mes": self._text(30)} for _ in range(20)]
        content = "\n".join(map(json.dumps, lines)).encode()
        self._api("post", "chats/import/", files={"file": ("chat.jsonl", content)})

    def _search(self) -> None:
        query = {"query": self._text(self._random.randint(1, 60)), "chat": self.chat}
        self._api("post", "memories/search/", json=query)

    def _prompt(self) -> None:
        self._api("post", f"chats/{self.chat}/prompt/", json={})

    def _complete(self) -> None:
        turns = [{"role": "user", "content": self._text(30)} for _ in range(3)]
        body = {"model": "bench", "messages": turns, "stream": self._random.random() < 0.5}
        self._request("post", "/v1/chat/completions", headers=self._bearer, json=body)

    def _page(self, path: str) -> None:
        self._request("get", path, headers=self._cookie, follow_redirects=True)

    def _api(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._request(method, f"/api/v1/{path}", headers=self._bearer, **options)

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = self._client.request(method, path, **options)
        self.answers[answer.status_code] += 1
        return answer

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(WORDS, k=words)) + "."


def _connect(owner: User) -> None:
    """Connect a server that replies at once, for the proxy."""
    connection = create_connection(owner, name="Bench", backend="openai", base_url=_model(), model="bench")
    use_for(connection, generation=True)


def _model() -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def main() -> None:
    """Print what each process has after each thousand requests or messages."""
    collect_if_changed()
    if REQUESTS:
        _measure_requests()
    if MESSAGES:
        _measure_messages()


def _measure_requests() -> None:
    environment = {"WEB_CONCURRENCY": "1", "LOG_LEVEL": "ERROR"}
    with web_server(environment) as (url, service), ThreadPoolExecutor(CLIENTS) as threads:
        assert service.process
        [process] = psutil.Process(service.process.pid).children()  # the one that answers requests
        people = [Person(url, number) for number in range(CLIENTS)]
        sizes = {0: _print(0, "requests", process, 0, "")}
        for sent in range(EACH, REQUESTS + 1, EACH):
            begun = time.monotonic()
            list(threads.map(partial(_send, count=EACH // CLIENTS), people))
            answers = sum((person.answers for person in people), Counter[int]())
            failed = {status: count for status, count in answers.items() if status >= 400}
            sizes[sent] = _print(sent, "requests", process, time.monotonic() - begun, f", failed: {failed or 'none'}")
    _print_growth(sizes, "requests")


def _measure_messages() -> None:
    owners = [User.objects.create_user(f"bench-memory-reader-{number}@example.com") for number in range(READERS)]
    with system_scope(), connection.cursor() as cursor:  # what the requests have left to do
        cursor.execute("SELECT pgmq.purge_queue(name) FROM unnest(%s::text[]) AS name", [list(settings.QUEUES)])
        ExtractionRun.objects.active().delete()
    with small_worker({"LOG_LEVEL": "ERROR"}) as service:
        assert service.process
        process = psutil.Process(service.process.pid)
        sizes = {0: _print(0, "messages", process, 0, "")}
        for read in range(EACH, MESSAGES + 1, EACH):
            begun = time.monotonic()
            runs = [_start_reading(owners[n % READERS], read + n) for n in range(EACH // CHAT)]
            wait_until(lambda runs=runs: _have_ended(runs), MOST_SECONDS)
            sizes[read] = _print(read, "messages", process, time.monotonic() - begun, "")
    with system_scope():
        print(f"{Memory.objects.filter(owner__in=owners).count():,} memories kept")
    _print_growth(sizes, "messages")


def _start_reading(owner: User, number: int) -> ExtractionRun:
    """Import a chat and have it read."""
    lines: list[dict[str, Any]] = [{"user_name": "Alice", "character_name": f"Mira {number}"}]
    for n in range(CHAT):
        text = f"My cousin Anna{n} moved to the {PLACES[n % len(PLACES)]} in {1700 + n} with {n + 2} dogs and a boat."
        lines.append({"name": "Alice" if n % 2 else "Mira", "is_user": bool(n % 2), "mes": text})
    content = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    [chat] = import_chats(owner, content, filename="read.jsonl").chats
    return start_run(owner.pk, chat)[0]


def _have_ended(runs: list[ExtractionRun]) -> bool:
    """Return whether runs have succeeded. Raise RuntimeError if one has failed."""
    with system_scope():
        states = set(ExtractionRun.objects.filter(pk__in=[run.pk for run in runs]).values_list("state", flat=True))
    if "failed" in states:
        raise RuntimeError("A run has failed.")
    return states == {"succeeded"}


def _send(person: Person, count: int) -> None:
    for _ in range(count):
        person.send()


def _print(count: int, unit: str, process: psutil.Process, seconds: float, end: str) -> float:
    """Print a line, and return the process's share of memory in bytes."""
    memory = process.memory_full_info()
    print(
        f"{count:7,} {unit}: RSS {memory.rss / 2**20:4.0f} MB, PSS {memory.pss / 2**20:4.0f} MB, "
        f"{process.num_threads()} threads, {seconds:.0f} s{end}",
        flush=True,
    )
    return float(memory.pss)


def _print_growth(sizes: dict[int, float], unit: str) -> None:
    last = max(sizes)
    growth = sizes[last] / sizes[min(WARM_UP, last)]
    print(f"after {last:,} {unit} {growth:.2f} times what it was after {WARM_UP:,} (target: {MOST_GROWTH})")
