"""A real Open WebUI for tests: its server on the loopback, offline, its data in a folder of its own.

It is installed by ``make open-webui`` and is no part of Loci.
"""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

START_TIMEOUT = 900  # seconds: its first start imports hundreds of modules and makes its database
TURN_TIMEOUT = 180
MODEL = "scripted-small"
FILTER = "loci_memory"
ENVIRONMENT = {
    "OFFLINE_MODE": "true",
    "HF_HUB_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "ENABLE_OLLAMA_API": "false",
    "RAG_EMBEDDING_ENGINE": "openai",  # else it loads a model at its start
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "WEBUI_SECRET_KEY": "of the tests alone, which keep nothing secret",
}


@contextlib.contextmanager
def running(python: Path, home: Path, *, base_url: str) -> Iterator["OpenWebUI"]:
    """Run Open WebUI with a connection to a model server. Yield it, with its first user signed in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Loci's own variables, such as DATABASE_URL, would be taken for Open WebUI's.
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DATA_DIR": str(home),
        "OPENAI_API_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
    }
    command = [str(python.absolute().with_name("open-webui")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=home, env=ENVIRONMENT | given, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=TURN_TIMEOUT) as client:
            wait_for(lambda: _answers(server, client, home), START_TIMEOUT, "Open WebUI doesn't start.")
            yield OpenWebUI(client)
    finally:
        server.terminate()
        server.wait()


def _answers(server: "subprocess.Popen[bytes]", client: httpx.Client, home: Path) -> bool:
    assert server.poll() is None, (home / "log").read_text()[-5000:]
    try:
        return client.get("/health").is_success
    except httpx.TransportError:
        return False


def wait_for(holds: Callable[[], bool], seconds: float, message: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, message
        time.sleep(0.2)


class OpenWebUI:
    """Open WebUI by the API that its page calls. ``chat_id`` is the open chat's, "" in a new one."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.session_id = str(uuid4())
        self.new_chat()
        user = {"name": "Ada", "email": "ada@example.com", "password": "correct-horse-7"}
        client.headers["Authorization"] = f"Bearer {self.ask('POST', '/api/v1/auths/signup', user)['token']}"

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        reply = self.client.request(method, path, json=body)
        assert reply.is_success, (path, reply.status_code, reply.text)
        return reply.json()

    def install_filter(self, code: str, valves: dict[str, Any]) -> None:
        """Do what an administrator does: paste the function, set its valves, switch it on for all models."""
        function = {"id": FILTER, "name": "Loci memory", "content": code, "meta": {"description": "Memory"}}
        assert self.ask("POST", "/api/v1/functions/create", function)["type"] == "filter"
        self.ask("POST", f"/api/v1/functions/id/{FILTER}/valves/update", valves)
        assert self.ask("POST", f"/api/v1/functions/id/{FILTER}/toggle")["is_active"]
        assert self.ask("POST", f"/api/v1/functions/id/{FILTER}/toggle/global")["is_global"]

    def new_chat(self) -> None:
        self.chat_id = ""
        self.shown: list[dict[str, Any]] = []  # the messages as the page holds them

    def say(self, text: str) -> str:
        """Send a message. Return the reply once all is done that belongs to the turn."""
        parent = self.shown[-1]["id"] if self.shown else None
        message: dict[str, Any] = {"id": str(uuid4()), "parentId": parent, "childrenIds": [], "role": "user"}
        self.shown.append(message | {"content": text, "timestamp": int(time.time()), "models": [MODEL]})
        return self._generate(parent)

    def regenerate(self) -> str:
        """Ask for another reply to the last message."""
        self.shown.pop()
        return self._generate(self.shown[-1]["id"])

    def _generate(self, parent: str | None) -> str:
        reply_id = str(uuid4())
        body = {
            "model": MODEL,
            "stream": True,
            "messages": [{"role": message["role"], "content": message["content"]} for message in self.shown],
            "parent_id": parent,
            "user_message": self.shown[-1],
            "message_ids": [{"model_id": MODEL, "message_id": reply_id}],
            "session_id": self.session_id,
            "background_tasks": {"title_generation": True, "tags_generation": True},
        }
        if self.chat_id:
            body["chat_id"] = self.chat_id
        self.chat_id = self.ask("POST", "/api/chat/completions", body)["chat_id"]
        tasks = f"/api/tasks/chat/{self.chat_id}"
        wait_for(lambda: not self.ask("GET", tasks)["task_ids"], TURN_TIMEOUT, "The turn doesn't end.")
        message = self.stored_messages()[reply_id]
        assert message.get("done"), message
        assert not message.get("error"), message
        texts = [part["text"] for item in message.get("output") or [] for part in item.get("content") or []]
        text = message.get("content") or "".join(texts)
        self.shown.append({"id": reply_id, "role": "assistant", "content": text})
        return str(text)

    def stored_messages(self) -> dict[str, dict[str, Any]]:
        """Return the messages of the open chat as Open WebUI has stored them, by id."""
        messages: dict[str, dict[str, Any]] = self.ask("GET", f"/api/v1/chats/{self.chat_id}")["chat"]["history"][
            "messages"
        ]
        return messages
