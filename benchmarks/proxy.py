"""Time to the first byte of a reply through the proxy, beyond the model server's own, in a chat of 200 messages.

Target: a median below 80 ms.
"""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import AsyncClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.llm.operations import create_connection, use_for
from benchmarks.timing import summary

MESSAGES, ROUNDS = 200, 40
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. "
REPLY = b'data: {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


class ModelServer(BaseHTTPRequestHandler):
    """Server that replies at once."""

    def do_POST(self) -> None:
        """Reply with two events."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(REPLY)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


async def first_byte(client: AsyncClient, secret: str, messages: list[dict[str, str]]) -> float:
    """Return the milliseconds to the first byte of a streamed reply, and read the others."""
    body = json.dumps({"messages": messages, "stream": True})
    begun = time.perf_counter()
    response: Any = await client.post(
        "/v1/chat/completions",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}", "Host": "127.0.0.1"},
    )
    chunks = response.streaming_content
    await anext(chunks)
    milliseconds = (time.perf_counter() - begun) * 1000
    async for _ in chunks:
        pass
    assert response.status_code == 200
    return milliseconds


def main() -> None:
    """Send a growing chat, turn by turn."""
    settings.LLM_ALLOWED_ADDRESSES = ["127.0.0.0/8"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    Thread(target=server.serve_forever, daemon=True).start()
    owner = User.objects.create_user("proxy@example.com")
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    use_for(create_connection(owner, name="Bench", backend="openai", base_url=url, model="bench"), generation=True)
    secret = create_token(owner, name="Bench")[1]
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": f"{number} {TEXT}"} for number in range(MESSAGES)
    ]
    times = []
    for number in range(ROUNDS):
        messages.append({"role": "user", "content": f"turn {number} {TEXT}"})
        times.append(async_to_sync(first_byte)(AsyncClient(), secret, [*messages]))
        messages.append({"role": "assistant", "content": "Yes."})
    print("time to the first byte", summary(times[5:]))
    server.shutdown()
