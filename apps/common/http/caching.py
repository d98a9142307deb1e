"""Middleware that keeps replies with private text out of caches, and parts of pages apart from the pages."""

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers

from apps.common.http.middleware import Middleware

API_PREFIXES = ("/api/v1/", "/v1/", "/mem0/")


class NoStoreMiddleware(Middleware):
    """Forbid browsers and proxies to store replies of the API, except those that say how long they may be stored."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith(API_PREFIXES):
            response.setdefault("Cache-Control", "no-store")
        return response


class PageCacheMiddleware(Middleware):
    """Keep pages and the parts of them that htmx asks for apart in the browser's cache.

    Both have the same address: without ``Vary``, the browser's back button shows the part where the page was. A part is
    not stored at all, and a page is asked for again whenever its address is opened.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("HX-Request", "HX-Boosted"))
            is_part = "HX-Request" in request.headers and "HX-Boosted" not in request.headers
            response.headers.setdefault("Cache-Control", "no-store" if is_part else "private, no-cache")
        return response
