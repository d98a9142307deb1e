"""Where a person is signed in: sessions with the time of their last use, which allauth lists and ends."""

import datetime as dt
import time
from collections.abc import Callable

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.common.http.middleware import Middleware

PRECISION = dt.timedelta(minutes=5)  # of the time of the last use, so that few requests write it
MAX_REMEMBERED = 10_000  # sessions that a process remembers to have written


class LastSeenMiddleware(Middleware):
    """Write when a session was last used, and from where."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.written: dict[str, float] = {}  # when this process last wrote it, by the session's key

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Who has no session needs none to be looked at: a response that depends on it varies by cookies.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            self._record(request)
        return self.get_response(request)

    def _record(self, request: HttpRequest) -> None:
        key, now = request.session.session_key or "", time.monotonic()
        if now - self.written.get(key, -PRECISION.total_seconds()) < PRECISION.total_seconds():
            return
        if len(self.written) >= MAX_REMEMBERED:
            self.written.clear()
        self.written[key] = now
        row = UserSession(
            session_key=key,
            user_id=request.user.pk,
            ip=get_adapter().get_client_ip(request),
            user_agent=request.headers.get("User-Agent", "")[: UserSession._meta.get_field("user_agent").max_length],
            last_seen_at=timezone.now(),
        )
        changed = ["user", "ip", "user_agent", "last_seen_at"]
        UserSession.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["session_key"], update_fields=changed
        )
