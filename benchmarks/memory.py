"""Memory of a web process over 20,000 requests of all kinds, sent by several clients at a time.

Target: after the first 2,000 requests it grows by no more than a tenth.
"""

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
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import create_character
from apps.common.pages.static_files import collect_if_changed
from apps.launcher.supervisor import Service
from apps.llm.operations import create_connection, use_for
from benchmarks.proxy import ModelServer
from benchmarks.services import web_server
from config.env import ROOT

REQUESTS, EACH = int(os.environ.get("MEMORY_REQUESTS", "20000")), 1000
WARM_UP, MOST_GROWTH = 2000, 1.1
CLIENTS = 8
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
    """Send the requests, and print what the process has after each thousand."""
    collect_if_changed()
    environment = {"WEB_CONCURRENCY": "1", "LOG_LEVEL": "ERROR"}
    with web_server(environment) as (url, service), ThreadPoolExecutor(CLIENTS) as threads:
        process = _process(service)
        people = [Person(url, number) for number in range(CLIENTS)]
        sizes = {0: _pss(process)}
        _print(0, process, people, 0)
        for sent in range(EACH, REQUESTS + 1, EACH):
            begun = time.monotonic()
            list(threads.map(partial(_send, count=EACH // CLIENTS), people))
            sizes[sent] = _pss(process)
            _print(sent, process, people, time.monotonic() - begun)
    growth = sizes[max(sizes)] / sizes[min(WARM_UP, max(sizes))]
    print(f"after {max(sizes):,} requests {growth:.2f} times what it was after {WARM_UP:,} (target: {MOST_GROWTH})")


def _send(person: Person, count: int) -> None:
    for _ in range(count):
        person.send()


def _process(service: Service) -> psutil.Process:
    """Return the process that answers requests."""
    assert service.process
    [process] = psutil.Process(service.process.pid).children()
    return process


def _pss(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss)


def _print(sent: int, process: psutil.Process, people: list[Person], seconds: float) -> None:
    memory = process.memory_full_info()
    answers = sum((person.answers for person in people), Counter[int]())
    failed = {status: count for status, count in answers.items() if status >= 400}
    print(
        f"{sent:6,} requests: RSS {memory.rss / 2**20:4.0f} MB, PSS {memory.pss / 2**20:4.0f} MB, "
        f"{process.num_threads()} threads, {seconds:.0f} s, failed: {failed or 'none'}",
        flush=True,
    )
