"""Middleware that limits how many requests of a user are worked on at once, by all processes together."""

import datetime as dt
import uuid
from uuid import UUID

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.middleware.throttling import user_id_of
from apps.common import leases
from apps.common.api.problems import refusal
from apps.common.http.middleware import Middleware
from apps.common.problems import Problem, ProblemType

# A request that takes longer is no longer counted. Those of a process that was killed are counted for as long.
LIFETIME = dt.timedelta(seconds=60)


class TooManyAtOnce(Problem):
    """The user has too many requests under way."""

    status = 429
    type = ProblemType.THROTTLED
    title = _("Too many requests at once")
    headers = {"Retry-After": "1"}

    def __init__(self) -> None:
        super().__init__(
            gettext("At most %(requests_at_once)s requests at once. Wait until one of them is answered.")
            % {"requests_at_once": settings.REQUESTS_AT_ONCE}
        )


class ConcurrencyMiddleware(Middleware):
    """Refuse requests of a user while REQUESTS_AT_ONCE of theirs are worked on. A stream counts until it begins."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.REQUESTS_AT_ONCE:
            return self.get_response(request)
        holder = uuid.uuid4()
        try:
            key = _take_lease(request, holder)
        except TooManyAtOnce as problem:
            return refusal(request.path, problem)
        try:
            return self.get_response(request)
        finally:
            if key:
                _release_lease(key, holder)


def _take_lease(request: HttpRequest, holder: UUID) -> str | None:
    """Take a lease for the request. Return its key, or None if nobody is signed in. Raise TooManyAtOnce."""
    try:
        user_id = user_id_of(request)
        if user_id is None:
            return None
        key = f"requests {user_id}"
        if leases.take(key, holder, LIFETIME, limit=settings.REQUESTS_AT_ONCE) is None:
            raise TooManyAtOnce
    except Error:  # the view repeats what it needs, or reports that the database is down
        connection.close()
        return None
    return key


def _release_lease(key: str, holder: UUID) -> None:
    try:
        leases.release(key, holder)
    except Error:  # it expires
        connection.close()
