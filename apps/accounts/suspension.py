"""Suspension of users: they may read and export, but not write."""

import datetime as dt
from collections.abc import Callable
from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.accounts.models import User
from apps.common.http.caching import API_PREFIXES
from apps.common.problems import Problem, ProblemType

# Forms that suspended users may send: to answer, to take their data along, to leave, and what only changes a cookie.
OPEN_VIEWS = {
    *("moderation:answer", "snapshots:index", "settings:closing", "settings:keep-account"),
    *("theme", "admin:logout"),
}


class Suspended(Problem):
    """The user is suspended; ``reason`` and ``until`` are members of the document."""

    status = 403
    type = ProblemType.SUSPENDED
    title = _("Your account is suspended")

    def __init__(self, user: User) -> None:
        until = user.suspended_until
        assert until is not None
        end = date_format(until.astimezone(dt.UTC), gettext("j F Y, H:i"))
        told = gettext("You can read and export, but not write, until %(end)s UTC.") % {"end": end}
        detail = f"{told} {user.suspension_reason}".strip()
        super().__init__(detail, reason=user.suspension_reason, until=until.isoformat())


def is_suspended(user: Any) -> bool:
    """Return whether the user is suspended now."""
    until = getattr(user, "suspended_until", None)
    return until is not None and until > timezone.now()


def able_users() -> QuerySet[User]:
    """Return the users for whom background work is done: neither banned nor suspended."""
    return User.objects.filter(is_active=True).exclude(suspended_until__gt=timezone.now())


def refuse_suspended(user: User) -> None:
    """Raise Suspended if the user is."""
    if is_suspended(user):
        raise Suspended(user)


class NotSuspended(BasePermission):
    """Permission that refuses writes of suspended users, except to views with ``open_to_suspended``."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True, or raise Suspended."""
        is_read = request.method in SAFE_METHODS or getattr(view, "reads_only", False)
        if not is_read and not getattr(view, "open_to_suspended", False):
            refuse_suspended(cast(User, request.user))
        return True


class SuspensionMiddleware:
    """Middleware that refuses writes of suspended users on pages. The API has a permission for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Return a page with reason and end of the suspension, or None to go on."""
        if request.method in SAFE_METHODS or request.path.startswith(API_PREFIXES):
            return None
        match = request.resolver_match
        is_open = view.__module__.startswith("allauth.") or (match is not None and match.view_name in OPEN_VIEWS)
        if is_open or not is_suspended(request.user):
            return None
        return render(request, "accounts/suspended.html", status=403)
