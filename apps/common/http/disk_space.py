"""Middleware that refuses writes while the disk is full, so that the database never runs out of space for its log.

Postgres stops at once where it can't extend its write-ahead log, and readers with it. What is refused before leaves
space for what reading itself stores: sessions, limits and heartbeats.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.permissions import SAFE_METHODS

from apps.common.api.problems import unavailable
from apps.common.database.errors import DiskFull
from apps.common.disk import DiskState, disk_state
from apps.common.http.middleware import Middleware

# Deleting makes space. Signing in, and the pages of the admin site, are for who can make it. What is lost by waiting
# needs hardly any: an account that is to stay, a token that got into wrong hands, the access of programs that read.
OPEN_METHODS = (*SAFE_METHODS, "DELETE")
OPEN_MODULES = ("allauth.", "django.contrib.admin.")
OPEN_VIEWS = ("theme", "admin:", "settings:keep-account", "settings:revoke-token", "oauth:token", "oauth:revoke")
DELETES = ("delete", "purge", "empty", "closing")  # in the names of forms that delete


class DiskSpaceMiddleware(Middleware):
    """Answer writes with a 503 that says why, while less than DISK_FULL_MEGABYTES are free."""

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Return a 503 for a write that needs space there isn't, or None to go on."""
        if request.method in OPEN_METHODS or _reads_or_deletes(request, view):
            return None
        return unavailable(request, DiskFull()) if disk_state() is DiskState.FULL else None


def _reads_or_deletes(request: HttpRequest, view: Any) -> bool:
    options = getattr(view, "initkwargs", {}) or getattr(view, "view_initkwargs", {})
    view_class = getattr(view, "cls", None) or getattr(view, "view_class", None)
    if options.get("reads_only", getattr(view_class, "reads_only", False)) is True:
        return True
    name = request.resolver_match.view_name if request.resolver_match else ""
    is_deletion = any(word in name.rpartition(":")[2] for word in DELETES)
    return is_deletion or name.startswith(OPEN_VIEWS) or view.__module__.startswith(OPEN_MODULES)
