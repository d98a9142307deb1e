"""Colours and the size of the text. In cookies, so that the server's first byte already has them."""

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

# What may be chosen, by cookie; anything else is the default: the system's colours, text of the usual size.
CHOICES = {"theme": {"light", "dark"}, "text_size": {"small", "large"}}


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep what was chosen and go back to where that was."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    reply = redirect(target if safe else "/")
    for name in CHOICES.keys() & request.POST.keys():
        _keep(reply, name, request.POST.get(name, ""))
    return reply


def _keep(reply: HttpResponse, name: str, value: str) -> None:
    if value not in CHOICES[name]:
        reply.delete_cookie(name)
    else:
        year = dt.timedelta(days=365)
        reply.set_cookie(name, value, max_age=year, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
