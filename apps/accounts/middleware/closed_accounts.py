"""Middleware that lets the user of a closed account do little but keep it."""

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.api.problems import refusal
from apps.common.http.middleware import Middleware
from apps.common.http.request_bodies import API_PREFIX
from apps.common.problems import Problem, ProblemType

# Pages that the user of a closed account may open: to keep the account, to take their data along, and to sign out.
OPEN_VIEWS = {"settings:closing", "settings:keep-account", "account_logout", "theme", "snapshots:download"}


class AccountClosed(Problem):
    """The account is to be deleted. ``due`` is the moment, in ISO 8601."""

    status = 403
    type = ProblemType.FORBIDDEN
    title = _("This account is closed")

    def __init__(self, due: dt.datetime) -> None:
        super().__init__(gettext("It is to be deleted. Its user can keep it in the settings."), due=due.isoformat())


class ClosedAccountMiddleware(Middleware):
    """Lead the user of a closed account to the page where it can be kept. Tokens of such accounts are refused."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Who has no session needs none to be looked at: a response that depends on it varies by cookies.
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        due = getattr(request.user, "deletion_due_at", None) if has_session else None
        if due is None or _view_name(request) in OPEN_VIEWS:
            return self.get_response(request)
        if request.path.startswith(API_PREFIX):
            return refusal(request.path, AccountClosed(due))
        return redirect("settings:closing")


def _view_name(request: HttpRequest) -> str:
    try:
        return resolve(request.path_info).view_name
    except Resolver404:
        return ""
