"""Model server for tests: speaks the APIs of OpenAI and Ollama on the loopback, with replies set by rules.

    with ScriptedServer(lambda request: "NONE") as server:
        server.reply_to(lambda request: "Mira" in request.prompt, "[fact:2] Mira lives in Port Salt.")
        server.reply_to(lambda request: request.number == 3, Reply(status=503))
        ...  # a connection to server.url, or to server.url + "/v1"
        assert server.requests[0].headers["authorization"] == "Bearer secret"

It is a real HTTP server, so that worker processes can call it too. A rule's answer is a text, a Reply, or a function
from the request to either. The newest matching rule applies; without one, the answer that the server was created
with. Vectors are computed by ``vector_of``.
"""

import hashlib
import json
import math
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.servers import serving

DIMENSIONS = 16
LOOK = 0.05  # seconds between two looks whether to hurry
MODELS = ["scripted-large", "scripted-small"]


@dataclass
class Request:
    """Received request. ``number`` counts requests from 1; names of ``headers`` are in lower case."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: Any

    @property
    def kind(self) -> str:
        """Return generation, embeddings or models, or "" for an unknown path."""
        kinds = {
            "/chat/completions": "generation",
            "/api/chat": "generation",
            "/embeddings": "embeddings",
            "/api/embed": "embeddings",
            "/models": "models",
            "/api/tags": "models",
        }
        return next((kind for route, kind in kinds.items() if self.path.endswith(route)), "")

    @property
    def is_ollama(self) -> bool:
        return "/api/" in self.path and not self.path.endswith(("/chat/completions", "/embeddings", "/models"))

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body.get("messages", []) if isinstance(self.body, dict) else []

    @property
    def prompt(self) -> str:
        """Return the contents of all messages."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def stream(self) -> bool:
        """Return whether streaming is requested, which is Ollama's default."""
        return bool(self.body.get("stream", self.is_ollama)) if isinstance(self.body, dict) else False


@dataclass
class Reply:
    """Reply to a request.

    ``raw`` is sent unchanged as the body. Otherwise ``text`` is sent in the API's format; ``stream`` overrides whether
    it is streamed, ``finish_reason`` is why it ended. ``delay`` is the seconds before the reply, ``pace`` those between
    chunks of ``piece`` characters, both until ``hurry`` is set. After ``stall_after`` chunks the server sends nothing
    more, after ``break_after`` it closes the connection. ``tools`` are calls of tools: names and arguments.
    """

    text: str = ""
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = ""
    stream: bool | None = None
    usage: tuple[int, int] | None = (11, 7)
    finish: bool = True
    finish_reason: str = "stop"
    delay: float = 0
    pace: float = 0
    hurry: threading.Event = field(default_factory=threading.Event)
    piece: int = 12
    stall_after: int | None = None
    break_after: int | None = None
    tools: tuple[tuple[str, str], ...] = ()


Answer = str | Reply | Callable[[Request], "str | Reply"]
Rule = tuple[Callable[[Request], bool], Answer]


def html(title: str, status: int = 200) -> Reply:
    """Return a reply with a web page, as a proxy sends it."""
    page = f"<!DOCTYPE html><html><head><title>{title}</title></head><body>secret words</body></html>"
    return Reply(raw=page.encode(), status=status, content_type="text/html")


def document(value: Any, status: int = 200, **fields: Any) -> Reply:
    """Return a reply with any JSON value."""
    return Reply(raw=json.dumps(value).encode(), status=status, content_type="application/json", **fields)


def vector_of(text: str) -> list[float]:
    """Return a deterministic vector: the sum of a direction for each word, so that similar texts are near."""
    total = [0.0] * DIMENSIONS
    for word in text.lower().split() or [""]:
        seeded = random.Random(hashlib.sha256(word.encode("utf-8", "replace")).digest())
        total = [value + seeded.gauss(0, 1) for value in total]
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return [3 * value / length for value in total]


class ScriptedServer:
    """Server with rules. ``default`` is the answer without a matching rule, ``prefix`` the path of the OpenAI routes.

    With ``tls``, a server-side context, it serves HTTPS.
    """

    def __init__(self, default: Answer = "NONE", *, prefix: str = "/v1", tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.prefix = prefix
        self.closing = threading.Event()
        self.dropped = threading.Event()  # set when a client has gone away before the end of its reply
        self._rules: list[Rule] = [(lambda request: True, default)]
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._serving = serving(self._server)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._serving.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.closing.set()
        self._serving.__exit__(None, None, None)

    def reply_to(self, holds: Callable[[Request], bool], answer: Answer) -> None:
        """Reply so to all requests for which the predicate is true."""
        with self._lock:
            self._rules.insert(0, (holds, answer))

    def reply_with(self, *answers: Answer) -> None:
        """Reply so to the next requests for a completion, one reply each."""
        queue = list(answers)

        def take(request: Request) -> "str | Reply":
            answer = queue.pop(0)
            return answer(request) if callable(answer) else answer

        self.reply_to(lambda request: bool(queue) and request.kind == "generation", take)

    def of_kind(self, kind: str) -> list[Request]:
        return [request for request in self.requests if request.kind == kind]

    def answer(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> tuple[Request, Reply]:
        with self._lock:
            request = Request(len(self.requests) + 1, method, path, headers, raw, _parsed(raw))
            self.requests.append(request)
            answer = next(answer for holds, answer in self._rules if holds(request))
            custom = answer is not self._rules[-1][1]
            made = answer(request) if callable(answer) and (custom or request.kind == "generation") else answer
        if custom or request.kind == "generation":
            reply = made if isinstance(made, Reply) else Reply(text=str(made))
        else:
            reply = Reply()
        if not self._knows(request) and reply.raw is None and reply.status == 200:
            reply = document({"error": {"message": f"Invalid URL ({method} {path})"}}, 404)
        return request, reply

    def _knows(self, request: Request) -> bool:
        """Return whether the path exists: Ollama's routes, and OpenAI's below the prefix only."""
        route = request.path.removeprefix(self.prefix + "/")
        openai = request.path.startswith(self.prefix + "/") and route in ("chat/completions", "embeddings", "models")
        return openai or request.path in ("/api/chat", "/api/embed", "/api/tags")


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _handler_of(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request, reply = server.answer(self.command, self.path, headers, raw)
            self.close_connection = True
            try:
                self._send(request, reply)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                server.dropped.set()

        def _send(self, request: Request, reply: Reply) -> None:
            if self._is_closing_after(reply):
                return
            pieces, content_type = _body_of(request, reply)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type or content_type)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.flush()
            for number, piece in enumerate(pieces):
                if number == reply.break_after:
                    return
                if number == reply.stall_after and server.closing.wait(3600):
                    return
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
                reply.hurry.wait(reply.pace)
            self.wfile.write(b"0\r\n\r\n")

        def _is_closing_after(self, reply: Reply) -> bool:
            """Wait for the reply's delay, or until it is told to hurry. Return whether the server closes meanwhile."""
            end = time.monotonic() + reply.delay
            while (left := end - time.monotonic()) > 0 and not reply.hurry.is_set():
                if server.closing.wait(min(left, LOOK)):
                    return True
            return False

    return Handler


def _body_of(request: Request, reply: Reply) -> tuple[Iterator[bytes], str]:
    """Return the chunks of the body and its content type."""
    if reply.raw is not None:
        size = max(reply.piece, 1) if reply.pace else max(len(reply.raw), 1)
        return (reply.raw[at : at + size] for at in range(0, len(reply.raw), size)), "application/json"
    if reply.status != 200:
        message = {"error": {"message": reply.text or "Scripted failure."}}
        return iter([json.dumps(message).encode()]), "application/json"
    if request.kind == "models":
        listed = [{"id": name, "name": name, "object": "model"} for name in MODELS]
        return _json({"object": "list", "data": listed, "models": listed})
    if request.kind == "embeddings":
        return _json(_embeddings(request))
    wants_stream = request.stream if reply.stream is None else reply.stream
    if request.is_ollama:
        documents = _ollama_stream(reply) if wants_stream else [_ollama_whole(reply)]
        return (json.dumps(one).encode() + b"\n" for one in documents), "application/x-ndjson"
    if wants_stream:
        return _events(reply), "text/event-stream"
    return _json(_openai_whole(reply))


def _json(value: Any) -> tuple[Iterator[bytes], str]:
    return iter([json.dumps(value).encode()]), "application/json"


def _embeddings(request: Request) -> dict[str, Any]:
    given = request.body["input"]
    texts = [given] if isinstance(given, str) else given
    vectors = [vector_of(text) for text in texts]
    tokens = sum(len(text.split()) for text in texts)
    if request.is_ollama:
        return {"model": request.body["model"], "embeddings": vectors, "prompt_eval_count": tokens}
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    # The last first: the index says where each belongs.
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), max(size, 1))]


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    asked, answered = reply.usage
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    return {"usage": usage}


def _openai_whole(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.tools:
        message["tool_calls"] = [_call(number, *call) for number, call in enumerate(reply.tools)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], **_usage(reply)}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.tools else reply.finish_reason


def _call(number: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": number, "id": f"call_{number}", "type": "function", "function": function}


def _pieces(number: int, name: str, arguments: str) -> Iterator[dict[str, Any]]:
    """Return a call as it comes in a stream: its name first, then its arguments in two pieces."""
    yield {"tool_calls": [_call(number, name, arguments[:5])]}
    yield {"tool_calls": [{"index": number, "function": {"arguments": arguments[5:]}}]}


def _events(reply: Reply) -> Iterator[bytes]:
    """Return server-sent events as OpenAI sends them."""
    deltas = [{reply.reasoning_field: part} for part in _cut(reply.reasoning, reply.piece)]
    deltas += [{"content": part} for part in _cut(reply.text, reply.piece)]
    deltas += [piece for number, call in enumerate(reply.tools) for piece in _pieces(number, *call)]
    yield b": keep-alive\n\n"
    for delta in [{"role": "assistant", "content": ""}, *deltas]:
        yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    if not reply.finish:
        return
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(reply)}]})
    if reply.usage is not None:
        yield _event({"choices": [], **_usage(reply)})
    yield b"data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"object": "chat.completion.chunk", **value}).encode() + b"\n\n"


def _ollama_counts(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    return {"prompt_eval_count": reply.usage[0], "eval_count": reply.usage[1]}


def _ollama_call(name: str, arguments: str) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": json.loads(arguments)}}


def _ollama_whole(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["thinking"] = reply.reasoning
    if reply.tools:
        message["tool_calls"] = [_ollama_call(*call) for call in reply.tools]
    return {"message": message, "done": True, "done_reason": reply.finish_reason, **_ollama_counts(reply)}


def _ollama_stream(reply: Reply) -> Iterator[dict[str, Any]]:
    for part in _cut(reply.reasoning, reply.piece):
        yield {"message": {"role": "assistant", "content": "", "thinking": part}, "done": False}
    for part in _cut(reply.text, reply.piece):
        yield {"message": {"role": "assistant", "content": part}, "done": False}
    for name, arguments in reply.tools:
        calls = [_ollama_call(name, arguments)]
        yield {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False}
    if reply.finish:
        yield {
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": reply.finish_reason,
            **_ollama_counts(reply),
        }
