"""Restriction of requests to the rows of their user, in the database."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.http import FileResponse, HttpRequest, HttpResponseBase, StreamingHttpResponse

from apps.accounts.models import User
from apps.common.database.restriction import restrict, restricted_to, restriction
from apps.common.http.middleware import Middleware
from apps.common.scoping import system_scope


class RowScopeMiddleware(Middleware):
    """Restrict a request to the rows of the user of its session, or to none until a token names a user.

    The admin site shows the rows of all owners to those who may use it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.admin_site = f"/{settings.ADMIN_PATH}"

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with restricted_to(None):
            # Who has no session needs none to be looked at: a response that depends on it varies by cookies.
            user = request.user if settings.SESSION_COOKIE_NAME in request.COOKIES else None
            if user is not None and user.is_authenticated:
                if user.is_staff and request.path_info.startswith(self.admin_site):
                    with system_scope():
                        return self.get_response(request)
                restrict(user.pk)
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
                _restrict_stream(response)
            return response


def restrict_to_signed_in(user: User, **kwargs: Any) -> None:
    """Receive ``user_logged_in``."""
    restrict(user.pk)


user_logged_in.connect(restrict_to_signed_in)


def _restrict_stream(response: StreamingHttpResponse) -> None:
    """Have the rest of a response produced under the restriction of its request, which has ended by then."""
    name = restriction()
    owner = UUID(name) if name else None
    content: Any = response.streaming_content
    response.streaming_content = _each_async(content, owner) if response.is_async else _each(content, owner)


def _each(content: Iterator[bytes], owner: UUID | None) -> Iterator[bytes]:
    while True:
        with restricted_to(owner):
            try:
                part = next(content)
            except StopIteration:
                return
        yield part


async def _each_async(content: Any, owner: UUID | None) -> AsyncIterator[bytes]:
    try:
        while True:
            with restricted_to(owner):
                try:
                    part = await anext(content)
                except StopAsyncIteration:
                    return
            yield part
    finally:  # of a client that has gone away, too
        with restricted_to(owner):
            await content.aclose()
