"""Time to the first byte of a reply through the proxy, beyond the model server's own, in a chat of 200 messages.

Target: a median below 80 ms.
"""

import statistics
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.common.pages.static_files import collect_if_changed
from apps.llm.operations import create_connection, use_for
from benchmarks.page import web_server
from benchmarks.timing import summary

MESSAGES, ROUNDS, WARM_UP = 200, 40, 5
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. "
REPLY = b'data: {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


class ModelServer(BaseHTTPRequestHandler):
    """Server that replies at once."""

    def do_POST(self) -> None:
        """Reply with two events, after which the connection is closed."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(REPLY)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def first_byte(client: httpx2.Client, url: str, messages: list[dict[str, str]]) -> float:
    """Return the milliseconds to the first byte of a streamed reply, and read the others."""
    begun = time.perf_counter()
    body = {"model": "bench", "messages": messages, "stream": True}
    with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        assert response.status_code == 200, response.read()
        chunks = response.iter_raw()
        next(chunks)
        milliseconds = (time.perf_counter() - begun) * 1000
        for _ in chunks:
            pass
    return milliseconds


def main() -> None:
    """Send a growing chat, turn by turn, to the web server and to the model server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    Thread(target=server.serve_forever, daemon=True).start()
    owner = User.objects.create_user("bench-proxy@example.com")
    upstream = f"http://127.0.0.1:{server.server_address[1]}/v1"
    use_for(create_connection(owner, name="Bench", backend="openai", base_url=upstream, model="bench"), generation=True)
    secret = create_token(owner, name="Bench")[1]
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": f"{number} {TEXT}"} for number in range(MESSAGES)
    ]
    collect_if_changed()
    with (
        web_server(LOG_LEVEL="ERROR") as url,
        httpx2.Client(headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client,
    ):
        times: dict[str, list[float]] = {"proxy": [], "upstream": []}
        for number in range(ROUNDS):
            messages.append({"role": "user", "content": f"turn {number} {TEXT}"})
            times["proxy"].append(first_byte(client, f"{url}/v1", messages))
            times["upstream"].append(first_byte(client, upstream, messages))
            messages.append({"role": "assistant", "content": "Yes."})
    server.shutdown()
    proxy, direct = times["proxy"][WARM_UP:], times["upstream"][WARM_UP:]
    print(f"first byte through the proxy: {summary(proxy)}")
    print(f"of the model server alone:    {summary(direct)}")
    added = statistics.median(proxy) - statistics.median(direct)
    print(f"added by the proxy:           p50 {added:7.2f} ms (target: 80)")
