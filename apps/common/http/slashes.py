"""Middleware that redirects addresses without their last slash."""

from django.http import HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware


class PermanentRedirect(HttpResponsePermanentRedirect):
    """Redirect that keeps method and body: after a 301, clients repeat a POST as a GET without its body."""

    status_code = 308


class SlashMiddleware(CommonMiddleware):
    """Django's common middleware, whose redirects lose no write."""

    response_redirect_class = PermanentRedirect
