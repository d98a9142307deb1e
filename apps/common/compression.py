"""Compression of pages."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PageCompressionMiddleware(GZipMiddleware):
    """Compress HTML with gzip, and nothing else.

    Event streams and exports are left alone: compressing them would hold them back. Against BREACH, which guesses a
    secret from the lengths of replies that reflect input, Django masks the CSRF token anew in each reply and adds
    random padding to each; the secret of an API token stands only in the reply to the POST that creates it.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
