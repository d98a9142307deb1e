"""Light, dark, or what the system says. In a cookie, so that the server's first byte already has it."""

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

COOKIE = "theme"
THEMES = {"light", "dark"}


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the theme and go back to where it was chosen; anything but light and dark means the system's."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    reply = redirect(target if safe else "/")
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        reply.delete_cookie(COOKIE)
    else:
        year = dt.timedelta(days=365)
        reply.set_cookie(COOKIE, theme, max_age=year, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
    return reply
