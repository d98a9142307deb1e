"""Middleware that limits how many requests a user makes: of all kinds, and of those that cost more."""

from math import ceil
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import SAFE_METHODS

from apps.accounts.authentication import authenticated_user_id
from apps.common.api.problems import refusal
from apps.common.http.middleware import Middleware
from apps.common.http.rate_limits import Allowance, Rate, take
from apps.common.problems import Problem, ProblemType

DEFAULT_SCOPE = "api"
FREE_BYTES = 64 * 1024  # bodies up to this size are not counted
MEGABYTE = 1024 * 1024


class Throttled(Problem):
    """The user has made too many requests."""

    status = 429
    type = ProblemType.THROTTLED
    title = _("Too many requests")

    def __init__(self, allowance: Allowance) -> None:
        rate = allowance.rate
        super().__init__(
            gettext("At most %(limit)s requests of this kind in %(window)s s. Wait %(retry_after)s s.")
            % {"limit": rate.limit, "window": rate.window, "retry_after": allowance.retry_after}
        )
        self.allowance = allowance

    @property
    def headers(self) -> dict[str, str]:
        return self.allowance.headers


class TooMuchData(Throttled):
    """The user has sent too much in large bodies."""

    title = _("Too much data")

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(allowance)
        rate = allowance.rate
        self.detail = gettext(
            "At most %(limit)s MB in large bodies in %(window)s s. Wait %(retry_after)s s, or send less."
        ) % {"limit": rate.limit, "window": rate.window, "retry_after": allowance.retry_after}


class BodyCounter:
    """Counter of the started megabytes of one large body, which its user is allowed a number of.

    To read a body and to count its values costs a process a tenth of a second, also if it is refused then. A file costs
    less, and has a rate of its own.
    """

    def __init__(self, user_id: UUID, *, is_upload: bool) -> None:
        self._user_id = user_id
        self._scope = "uploads" if is_upload else "bodies"
        self._megabytes = 0

    def has_counted(self, size: int) -> bool:
        """Return whether nothing is left to count of this size."""
        return size <= max(FREE_BYTES, self._megabytes * MEGABYTE)

    def count(self, size: int) -> None:
        """Count a body that has grown to this size. Raise TooMuchData."""
        if self.has_counted(size):
            return
        counted, self._megabytes = self._megabytes, ceil(size / MEGABYTE)
        rate = Rate.parse(settings.RATE_LIMITS.get(self._scope, ""))
        cost = min(self._megabytes, rate.limit) - min(counted, rate.limit) if rate else 0
        if rate and cost and not (allowance := take(_key(self._scope, self._user_id), rate, cost)).is_allowed:
            raise TooMuchData(allowance)


class ThrottleMiddleware(Middleware):
    """Refuse requests of a user above the rates of ``RATE_LIMITS``.

    It is no throttle class of REST framework, since these run inside of the transaction of an idempotency key, where
    a counter would make all requests of its user wait for each other. ``RATE_LIMIT_SCOPES`` names the views of a scope;
    all else, and reads of these views, are of the scope "api". Who is not signed in is not counted here: allauth
    counts attempts to sign in.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        allowance = _allowance_of(request) if any(settings.RATE_LIMITS.values()) else None
        if allowance is not None and not allowance.is_allowed:
            return refusal(request.path, Throttled(allowance))
        response = self.get_response(request)
        if allowance is None:
            return response
        for name, value in allowance.headers.items():
            response.setdefault(name, value)
        return response


def _allowance_of(request: HttpRequest) -> Allowance | None:
    """Count the request and return what is left to its user, or None if it is not limited."""
    try:
        scope = _scope_of(request)
        rate = Rate.parse(settings.RATE_LIMITS.get(scope, ""))
        user_id = user_id_of(request) if rate else None
        return take(_key(scope, user_id), rate) if rate and user_id else None
    except DatabaseError:  # the view repeats what it needs, or reports that the database is down
        connection.close()
        return None


def user_id_of(request: HttpRequest) -> UUID | None:
    """Return the id of the user whose token or session the request has, or None."""
    # The API's classes would look for a CSRF token, which forms send in their body.
    return authenticated_user_id(request) if "Authorization" in request.headers else request.user.pk


def _key(scope: str, user_id: UUID) -> str:
    return f"{scope} {user_id}"


def _scope_of(request: HttpRequest) -> str:
    if request.method in SAFE_METHODS:
        return DEFAULT_SCOPE
    try:
        name = resolve(request.path_info).view_name
    except Resolver404:
        return DEFAULT_SCOPE
    return next((scope for scope, names in settings.RATE_LIMIT_SCOPES.items() if name in names), DEFAULT_SCOPE)
