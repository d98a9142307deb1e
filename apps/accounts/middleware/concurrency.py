"""Middleware that limits how many requests of a user are worked on at once, by all processes together."""

import datetime as dt
from collections.abc import Callable

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.middleware.throttling import user_id_of
from apps.common.api.problems import refusal
from apps.common.http.leases import give_back_lease, take_lease
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


class ConcurrencyMiddleware:
    """Refuse requests of a user while REQUESTS_AT_ONCE of theirs are worked on. A stream counts until it begins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.REQUESTS_AT_ONCE:
            return self.get_response(request)
        try:
            lease = _Lease.of(request)
        except TooManyAtOnce as problem:
            return refusal(request.path, problem)
        try:
            return self.get_response(request)
        finally:
            if lease:
                lease.give_back()


class _Lease:
    """Lease of one request."""

    def __init__(self, key: str, end: dt.datetime) -> None:
        self._key, self._end = key, end

    @classmethod
    def of(cls, request: HttpRequest) -> "_Lease | None":
        """Take a lease, or return None if nobody is signed in. Raise TooManyAtOnce."""
        try:
            user_id = user_id_of(request)
            if user_id is None:
                return None
            key = f"requests {user_id}"
            end = take_lease(key, settings.REQUESTS_AT_ONCE, LIFETIME)
        except Error:  # the view repeats what it needs, or reports that the database is down
            connection.close()
            return None
        if end is None:
            raise TooManyAtOnce
        return cls(key, end)

    def give_back(self) -> None:
        try:
            give_back_lease(self._key, self._end)
        except Error:  # it ends by itself
            connection.close()
