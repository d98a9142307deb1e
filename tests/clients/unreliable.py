"""A proxy on the loopback interface that loses, delays and repeats what passes through it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from tests.servers import serving

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "content-encoding", "host", "accept-encoding"}


@dataclass
class Passing:
    """One request on its way through the proxy."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    send: Callable[[], httpx.Response]


class Lost(Exception):
    """The connection breaks: no reply."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"


Rule = Callable[[Passing], Answer | httpx.Response]


class Proxy(ThreadingHTTPServer):
    """``rule`` says of each request what becomes of it. ``seen`` are those that came."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.rule: Rule = lambda passing: passing.send()
        self.seen: list[Passing] = []
        self.http = httpx.Client(trust_env=False, verify=False, timeout=60, limits=httpx.Limits(max_connections=None))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        if "Content-Encoding" in self.headers:
            headers["Content-Encoding"] = self.headers["Content-Encoding"]
        url = self.server.upstream + self.path

        def send() -> httpx.Response:
            return self.server.http.request(self.command, url, headers=headers, content=body)

        passing = Passing(self.command, self.path, dict(self.headers), body, send)
        self.server.seen.append(passing)
        try:
            answer = self.server.rule(passing)
        except Lost:
            self.close_connection = True
            return
        self.answer(answer)

    def answer(self, answer: Answer | httpx.Response) -> None:
        status, body = (
            (answer.status, answer.body) if isinstance(answer, Answer) else (answer.status_code, answer.content)
        )
        self.send_response(status)
        for name, value in answer.headers.items():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = pass_on

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def running_proxy(upstream: str) -> Iterator[Proxy]:
    proxy = Proxy(upstream)
    with proxy.http, serving(proxy):
        yield proxy


# Rules


def losing_replies(times: int, *, of: str = "") -> Rule:
    """Of the first ``times`` requests whose path has ``of`` in it the server's reply is lost."""
    lost = iter(range(times))

    def rule(passing: Passing) -> httpx.Response:
        reply = passing.send()
        if of in passing.path and passing.method != "GET" and next(lost, None) is not None:
            raise Lost
        return reply

    return rule


def answering(*answers: Answer) -> Rule:
    """These answers to the first writes, which the server doesn't see."""
    left = iter(answers)

    def rule(passing: Passing) -> Answer | httpx.Response:
        answer = None if passing.method == "GET" else next(left, None)
        return answer or passing.send()

    return rule
