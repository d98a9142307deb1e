"""Middleware that refuses what suspended users may not do on pages."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.permissions import SAFE_METHODS

from apps.accounts.suspension import is_suspended
from apps.common.http.caching import API_PREFIXES
from apps.common.http.middleware import Middleware

# Forms that suspended users may send: to answer, to take their data along, to leave, and what only changes a cookie.
OPEN_VIEWS = {
    *("moderation:answer", "snapshots:index", "settings:closing", "settings:keep-account"),
    *("theme", "admin:logout"),
}


class SuspensionMiddleware(Middleware):
    """Middleware that refuses writes of suspended users on pages. The API has a permission for it."""

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Return a page with reason and end of the suspension, or None to go on."""
        if request.method in SAFE_METHODS or request.path.startswith(API_PREFIXES):
            return None
        match = request.resolver_match
        is_open = view.__module__.startswith("allauth.") or (match is not None and match.view_name in OPEN_VIEWS)
        if is_open or not is_suspended(request.user):
            return None
        return render(request, "accounts/suspended.html", status=403)
