"""Choices kept in cookies, so that the server renders pages with them: theme, text size, sending key, reply on send."""

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

# Values by cookie; any other value means the default: the system's colours, normal text size, Ctrl+Enter, a reply.
CHOICES_BY_COOKIE = {
    "theme": {"light", "dark"},
    "text_size": {"small", "large"},
    "send_key": {"enter"},
    "reply_on_send": {"off"},
}


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Store the choice in cookies and redirect back to the page in ``next``."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    response = redirect(target if safe else "/")
    for name in CHOICES_BY_COOKIE.keys() & request.POST.keys():
        _set_cookie(response, name, request.POST.get(name, ""))
    return response


def _set_cookie(response: HttpResponse, name: str, value: str) -> None:
    """Set the cookie for a year; delete it for the default."""
    if value not in CHOICES_BY_COOKIE[name]:
        response.delete_cookie(name)
    else:
        year = dt.timedelta(days=365)
        response.set_cookie(name, value, max_age=year, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
