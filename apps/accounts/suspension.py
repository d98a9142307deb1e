"""Suspension of users: they may read and export, but not write."""

import datetime as dt
from typing import Any, cast

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.accounts.models import User
from apps.common.problems import Problem, ProblemType


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
