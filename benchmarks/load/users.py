"""Locust file: people who read, append, edit, search and ask for prompts, each in a chat of their own.

``LOAD_USERS`` names a file with one JSON object a line, ``{"chat", "secret"}``. A request that fails is sent again with
the same Idempotency-Key until it is answered, as good clients do. The texts that are sent and those that were stored by
the answer are appended to the file ``LOAD_WRITES``, ``{"message", "text", "acknowledged"}`` a line.
"""

import json
import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import choice
from threading import Lock
from typing import Any
from uuid import uuid4

from locust import HttpUser, between, events, task

TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand."
PLACES = ("harbour", "lighthouse", "old mill", "ferry house", "market hall")
RETRY_SECONDS = 1.0
RETRIED = (0, 429, 500, 502, 503, 504)  # 0: no answer

_people: Iterator[dict[str, str]] = map(json.loads, Path(os.environ["LOAD_USERS"]).read_text().splitlines())
_writes = Path(os.environ["LOAD_WRITES"]).open("a")  # noqa: SIM115 - open until the end
_lock = Lock()


class Person(HttpUser):
    """Somebody with one chat. What they send again has a name of its own in the statistics, "(again)"."""

    wait_time = between(4, 10)

    def on_start(self) -> None:
        """Take a chat, and begin it."""
        with _lock:
            person = next(_people)
        self.chat, self.numbers = person["chat"], count()
        self.integrity = ""
        self.messages: list[str] = []
        self.client.headers["Authorization"] = f"Bearer {person['secret']}"
        self.client.trust_env = False
        self.append()

    @task(10)
    def read(self) -> None:
        """Read the last messages."""
        self.client.get(f"/api/v1/chats/{self.chat}/messages/?limit=20", name="read")

    @task(4)
    def append(self) -> None:
        """Append a message and its reply."""
        texts = [self._text() for _ in range(2)]
        messages = [
            {"name": n, "is_user": n == "Alice", "mes": t} for n, t in zip(("Alice", "Mira"), texts, strict=True)
        ]
        body = {"messages": messages, **({"integrity": self.integrity} if self.integrity else {})}
        answer = self._write("append", f"/api/v1/chats/{self.chat}/append/", body)
        for row, text in zip(answer["appended"], texts, strict=True):
            self.messages.append(row["id"])
            self._note(row["id"], text, acknowledged=True)

    @task(2)
    def edit(self) -> None:
        """Change the text of a message."""
        message, text = choice(self.messages), self._text()
        body = {"integrity": self.integrity, "patches": [{"id": message, "set": {"mes": text}}]}
        self._note(message, text, acknowledged=False)
        self._write("edit", f"/api/v1/chats/{self.chat}/patch/", body)
        self._note(message, text, acknowledged=True)

    @task(2)
    def search(self) -> None:
        """Search the memories."""
        self.client.post("/api/v1/memories/search/", json={"query": "Where was the bell?"}, name="search")

    @task(1)
    def prompt(self) -> None:
        """Ask for the prompt of the next turn."""
        self.client.post(f"/api/v1/chats/{self.chat}/prompt/", json={}, name="prompt")

    def _text(self) -> str:
        """Return a text that no other message has."""
        number = next(self.numbers)
        return f"{number}: Mira hid the copper key of chest {number} in the {PLACES[number % 5]}. {TEXT}"

    def _write(self, name: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a write until it is answered."""
        headers, again = {"Idempotency-Key": str(uuid4())}, ""
        while True:
            answer = self.client.post(path, json=body, headers=headers, name=name + again)
            if answer.status_code not in RETRIED:
                break
            again = " (again)"
            time.sleep(RETRY_SECONDS)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        self.integrity = result["integrity"]
        return result

    def _note(self, message: str, text: str, *, acknowledged: bool) -> None:
        line = json.dumps({"message": message, "text": text, "acknowledged": acknowledged})
        with _lock:
            _writes.write(line + "\n")
            _writes.flush()


@events.quit.add_listener
def _close(**_: object) -> None:
    _writes.close()
