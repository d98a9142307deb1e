"""Calls of the REST API within the process, with the token of who asks.

So a tool does what the API does: it sees the same rows, is limited and validated alike, and a repeated key stores
nothing twice.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

PREFIX = "/api/v1/"
MAX_ERRORS = 5  # of those that a refusal lists
# What is passed on of the request to /mcp: who asks, from where, under which name of this server.
PASSED_ON = ("host", "authorization", "user-agent", "forwarded", "x-request-id")
PASSED_ON_PREFIX = "x-forwarded-"


class Refused(Exception):
    """The API has refused a call. The text names fields and reasons."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Api:
    """The API, as the sender of a request to ``/mcp`` may use it."""

    application: Callable[..., Awaitable[None]]
    scope: Mapping[str, Any]
    headers: Mapping[str, str]

    async def get(self, path: str, **query: Any) -> Any:
        """Return the document at a path. Raise Refused."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self._call("GET", path, query=urlencode(given))

    async def post(self, path: str, body: Any, *, key: str | None = None, query: str = "") -> Any:
        """Post a body, stored once for an idempotency key, and return the reply. Raise Refused."""
        return await self._call("POST", path, body, key, query)

    async def patch(self, path: str, body: Any, *, key: str | None = None) -> Any:
        return await self._call("PATCH", path, body, key)

    async def delete(self, path: str) -> Any:
        return await self._call("DELETE", path)

    async def _call(self, method: str, path: str, body: Any = None, key: str | None = None, query: str = "") -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        reply = _Reply(content)
        scope = {
            **self.scope,
            "method": method,
            "path": PREFIX + path,
            "raw_path": quote(PREFIX + path).encode(),
            "query_string": query.encode(),
            "headers": self._headers(content, key),
            "extensions": {},
        }
        await self.application(scope, reply.receive, reply.send)
        return reply.document()

    def _headers(self, content: bytes, key: str | None) -> list[tuple[bytes, bytes]]:
        passed = {
            name: value
            for name, value in self.headers.items()
            if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)
        }
        own = {"accept": "application/json", "content-type": "application/json", "content-length": str(len(content))}
        own |= {} if key is None else {"idempotency-key": key}
        return [(name.encode(), value.encode("utf-8")) for name, value in {**passed, **own}.items()]


# The API for the request to /mcp that is being answered.
current_api: ContextVar[Api] = ContextVar("current_api")


class _Reply:
    """What Django is sent and answers, as an ASGI server would pass it."""

    def __init__(self, content: bytes) -> None:
        self._content: bytes | None = content
        self._parts: list[bytes] = []
        self._status = 500

    async def receive(self) -> Mapping[str, Any]:
        if self._content is None:
            await asyncio.Event().wait()  # the client stays; Django ends the wait with its response
        content, self._content = self._content, None
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        else:
            self._parts.append(message.get("body", b""))

    def document(self) -> Any:
        """Return the document of the reply. Raise Refused."""
        text = b"".join(self._parts)
        try:
            document = json.loads(text) if text else None
        except ValueError:
            document = None
        if self._status >= 400:
            raise Refused(_reason_of(document, self._status), self._status)
        return document


def _reason_of(problem: Any, status: int) -> str:
    """Return a problem document in one text: each field with the reason against it."""
    if not isinstance(problem, dict):
        return f"Loci answered {status}."
    errors = problem.get("errors") or []
    found = [f"{error['pointer'].removeprefix('/') or 'arguments'}: {error['detail']}" for error in errors[:MAX_ERRORS]]
    return " ".join(found) or str(problem.get("detail") or problem.get("title"))
