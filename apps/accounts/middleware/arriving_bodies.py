"""ASGI middleware that limits request bodies while they arrive, before the server stores any of them.

Django receives a whole body, in a file if it is large, before the first middleware runs. So size and sign-in are
checked here: a body that is too large for its route, or that nobody signed in sends, is refused at once. So is a large
one of a user who sent too much in the last minute.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, DataError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.authentication import REALM, find_token
from apps.accounts.middleware.throttling import FREE_BYTES, BodyCounter, TooMuchData
from apps.common.api.problems import refusal
from apps.common.database.connections import in_database
from apps.common.database.errors import unavailable_after
from apps.common.http.request_bodies import max_bytes, takes_files
from apps.common.problems import Problem, ProblemType, TooLarge

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
P = TypeVar("P")
R = TypeVar("R")

REFUSAL_DELAY = 1.0  # seconds that a client waits for the refusal if it sends too much
DISCARD_SECONDS = 5.0  # for which the rest of a refused body is received and dropped


class NotSignedIn(Problem):
    """A large body without a valid token or session."""

    status = 401
    type = ProblemType.NOT_AUTHENTICATED
    title = "Unauthorized"
    headers = {"WWW-Authenticate": REALM}


class BodyLimits:
    """Application that refuses large bodies, and passes all others on as they arrive.

    Small ones are left to the views: forms for signing in, and most requests, for which it saves a query.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        body = _ArrivingBody(scope, receive)
        send = body.closing(send)
        try:
            await body.check(body.declared)
            await self.application(scope, body.receive, send)
        except Problem as problem:  # from the receipt of the body, thus before any response
            if isinstance(problem, TooMuchData):
                await asyncio.sleep(REFUSAL_DELAY)
            await _send_response(refusal(scope["path"], problem), send)
            await body.discard()


class _ArrivingBody:
    """Body of one request: what has been received of it, and whether more may be."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._path = scope["path"]
        self._size = 0
        self._counter: BodyCounter | None = None
        self._is_complete = not self.declared and b"transfer-encoding" not in self._headers

    @property
    def declared(self) -> int:
        """Return the Content-Length, or 0."""
        length = self._headers.get(b"content-length", "")
        return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0

    async def receive(self) -> Mapping[str, Any]:
        """Receive the next part. Raise NotSignedIn, TooLarge, TooMuchData."""
        message = await self._receive()
        self._is_complete = not message.get("more_body")
        self._size += len(message.get("body", b""))
        await self.check(self._size)
        return message

    def closing(self, send: Send) -> Send:
        """Return a ``send`` that tells the client if the connection ends after the response.

        The server closes one with a body that was not read to its end, without a word: a client that uses it again
        would take that for a failure of its next request.
        """

        async def send_closing(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and not self._is_complete:
                message = {**message, "headers": [*message.get("headers", []), (b"connection", b"close")]}
            await send(message)

        return send_closing

    async def discard(self) -> None:
        """Drop what still arrives of a refused body, for some seconds.

        The server closes the connection afterwards. With bytes unread that resets it, and a client that was sending
        would see a broken connection instead of the refusal, and try again. One that asks first whether to send reads
        the refusal anyway, and must not be told to go on.
        """
        if b"expect" in self._headers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while (await self._receive()).get("more_body"):
                    pass

    async def check(self, size: int) -> None:
        """Raise NotSignedIn, TooLarge or TooMuchData if a body of this size is not accepted."""
        if size <= FREE_BYTES:
            return
        if self._counter is None:
            user_id = await _in_thread(_user_of, self._headers)
            if user_id is None:
                raise NotSignedIn("Sign in, or send a valid token, before sending this much.")
            self._counter = BodyCounter(user_id, is_upload=self._is_upload)
        limit = max_bytes(is_upload=self._is_upload)
        if size > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
        if not self._counter.has_counted(size):
            await _in_thread(self._counter.count, size)

    @cached_property
    def _is_upload(self) -> bool:
        content_type = self._headers.get(b"content-type", "").lower()
        return content_type.startswith("multipart/form-data") and takes_files(self._path)


async def _in_thread(function: Callable[[P], R], argument: P) -> R:
    """Call a function that uses the database. Raise Unavailable where that can't be reached."""
    try:
        return await in_database(function, argument, thread_sensitive=False)
    except (DatabaseError, InterfaceError) as error:
        raise unavailable_after(error) or error from error


def _user_of(headers: Mapping[bytes, str]) -> UUID | None:
    """Return the owner of the token in the headers if it is usable, or the user whose session they have, or None."""
    keyword, _, secret = headers.get(b"authorization", "").partition(" ")
    try:
        if keyword.lower() in ("bearer", "token"):
            token = find_token(secret.strip(), timezone.now())
            return token.owner_id if token else None
        return _user_of_session(headers.get(b"cookie", ""))
    except (DataError, ValueError):
        return None  # a value that no token or session can have


def _user_of_session(cookies: str) -> UUID | None:
    try:
        cookie = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    return get_user(_request_with(SessionStore(cookie.value))).pk if cookie else None


def _request_with(session: SessionStore) -> HttpRequest:
    request = HttpRequest()
    request.session = session
    return request


async def _send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    headers.append((b"Content-Length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
