"""ASGI middleware that limits request bodies while they arrive, before the server stores any of them.

Django receives a whole body, in a file if it is large, before the first middleware runs. So size and sign-in are
checked here: a body that is too large, or that nobody signed in sends, is refused at once.
"""

from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, InterfaceError, connections
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.authentication import REALM, find_token
from apps.common.database_errors import unavailable_after
from apps.common.problem_responses import refusal
from apps.common.problems import Problem, ProblemType, TooLarge
from apps.common.request_bodies import MULTIPART_OVERHEAD_BYTES

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Bodies up to this size are left to the views: forms for signing in, and most requests, for which it saves a query.
FREE_BYTES = 64 * 1024


class NotSignedIn(Problem):
    """A large body without a valid token or session."""

    status = 401
    type = ProblemType.NOT_AUTHENTICATED
    title = "Unauthorized"
    headers = {"WWW-Authenticate": REALM}


class BodyLimits:
    """Application that refuses large bodies, and passes all others on as they arrive."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        body = _ArrivingBody(scope, receive)
        try:
            await body.check(body.declared)
            await self.application(scope, body.receive, send)
        except Problem as problem:  # from the receipt of the body, thus before any response
            await _send_response(refusal(scope["path"], problem), send)


class _ArrivingBody:
    """Body of one request: what has been received of it, and whether more may be."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._size = 0
        self._is_signed_in = False

    @property
    def declared(self) -> int:
        """Return the Content-Length, or 0."""
        length = self._headers.get(b"content-length", "")
        return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0

    async def receive(self) -> Mapping[str, Any]:
        """Receive the next part. Raise NotSignedIn, TooLarge."""
        message = await self._receive()
        self._size += len(message.get("body", b""))
        await self.check(self._size)
        return message

    async def check(self, size: int) -> None:
        """Raise NotSignedIn or TooLarge if a body of this size is not accepted."""
        if size <= FREE_BYTES:
            return
        if not self._is_signed_in:
            self._is_signed_in = await sync_to_async(_is_signed_in, thread_sensitive=False)(self._headers)
        if not self._is_signed_in:
            raise NotSignedIn("Sign in, or send a valid token, before sending this much.")
        limit = self._limit()
        if size > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")

    def _limit(self) -> int:
        if self._headers.get(b"content-type", "").lower().startswith("multipart/form-data"):
            return settings.IMPORT_MAX_BYTES + MULTIPART_OVERHEAD_BYTES
        return settings.REQUEST_MAX_BYTES


def _is_signed_in(headers: Mapping[bytes, str]) -> bool:
    """Return whether the headers have a usable token, or the session of a user who is signed in. Raise Unavailable."""
    try:
        keyword, _, secret = headers.get(b"authorization", "").partition(" ")
        if keyword.lower() == "bearer":
            return find_token(secret.strip(), timezone.now()) is not None
        return _has_session(headers.get(b"cookie", ""))
    except (DatabaseError, InterfaceError, ValueError) as error:
        if problem := unavailable_after(error):
            raise problem from error
        return False  # a value that no token or session can have
    finally:
        connections.close_all()


def _has_session(cookies: str) -> bool:
    try:
        cookie = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    return cookie is not None and get_user(_request_with(SessionStore(cookie.value))).is_authenticated


def _request_with(session: SessionStore) -> HttpRequest:
    request = HttpRequest()
    request.session = session
    return request


async def _send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    headers.append((b"Content-Length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
