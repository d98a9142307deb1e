"""ASGI middleware that answers ``/mcp``: who asks is checked here, before the protocol's package is loaded."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from apps.accounts.authentication import REALM, find_token
from apps.common.api.problems import problem_response
from apps.common.database.connections import in_database
from apps.common.database.errors import unavailable_after
from apps.common.problems import Problem, ProblemType
from apps.mcp.calls import Api, current_api
from apps.mcp.oauth.origins import MCP_PATH, RESOURCE_METADATA_PATH, SCOPES

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class NotSignedIn(Problem):
    """A request without a valid token."""

    status = 401
    type = ProblemType.NOT_AUTHENTICATED
    title = "Unauthorized"

    def __init__(self, detail: str, origin: str) -> None:
        super().__init__(detail)
        self.origin = origin

    @property
    def headers(self) -> dict[str, str]:
        """Name the document that tells how to get a token."""
        metadata = f'resource_metadata="{self.origin}{RESOURCE_METADATA_PATH}"'
        return {"WWW-Authenticate": f'{REALM}, error="invalid_token", scope="{" ".join(SCOPES)}", {metadata}'}


class ForeignPage(Problem):
    """A request of a page of another origin, which no setting names."""

    status = 403
    type = ProblemType.FORBIDDEN
    title = "Forbidden"


class OnlyPosts(Problem):
    """A request for a stream or the end of a session: there are none."""

    status = 405
    type = ProblemType.METHOD_NOT_ALLOWED
    title = "Method Not Allowed"

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": "POST"}


class McpMount:
    """Application that answers ``/mcp`` itself, and leaves all else to Django, which tools call too.

    No request leaves anything behind: several processes may serve one client, and a token is looked up each time.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (MCP_PATH, MCP_PATH + "/") or scope["method"] == "OPTIONS":
            await self.application(scope, receive, send)
            return
        headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        send = _allowing(headers.get("origin", ""), send)
        try:
            await _check(scope, headers)
        except Problem as problem:
            await _respond(problem, send)
            return
        current_api.set(Api(self.application, scope, headers))
        # The package of the protocol takes a second to load: other requests don't wait for it.
        server = await asyncio.to_thread(import_module, "apps.mcp.server")
        await server.handle({**scope, "path": MCP_PATH}, receive, send)


async def _check(scope: Scope, headers: Mapping[str, str]) -> None:
    """Raise NotSignedIn, ForeignPage, OnlyPosts, or Unavailable if the database can't be reached."""
    origin, host = headers.get("origin", ""), headers.get("host", "")
    # The same as Django's own check: a page may have its name lead to this machine.
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        raise ForeignPage(f"This is not {host[:200]}. The setting ALLOWED_HOSTS names the hosts of this installation.")
    if origin and origin not in settings.CORS_ALLOWED_ORIGINS and origin not in (f"http://{host}", f"https://{host}"):
        raise ForeignPage(f"Pages of {origin[:200]} may not use Loci. The setting CORS_ORIGINS names those that may.")
    if scope["method"] != "POST":
        raise OnlyPosts("Send messages by POST. Replies come as its response.")
    keyword, _, secret = headers.get("authorization", "").partition(" ")
    if keyword.lower() != "bearer" or not await _is_usable(secret.strip()):
        has_tls = scope["scheme"] == "https" or headers.get("x-forwarded-proto") == "https"
        text = "This token is unknown, revoked or expired, or its account is closed." if secret else "Send a token."
        raise NotSignedIn(text, f"{'https' if has_tls else 'http'}://{host}")


async def _is_usable(secret: str) -> bool:
    try:
        return await in_database(find_token, secret, timezone.now(), thread_sensitive=False) is not None
    except (DatabaseError, InterfaceError) as error:
        raise unavailable_after(error) or error from error


def _allowing(origin: str, send: Send) -> Send:
    """Return a ``send`` that lets a page of an origin read the response, if a setting names that origin."""
    if origin not in settings.CORS_ALLOWED_ORIGINS:
        return send
    allowing = [(b"access-control-allow-origin", origin.encode()), (b"access-control-expose-headers", b"*")]

    async def send_allowing(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *allowing, (b"vary", b"Origin")]}
        await send(message)

    return send_allowing


async def _respond(problem: Problem, send: Send) -> None:
    response = problem_response(problem)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"content-length", str(len(response.content)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
