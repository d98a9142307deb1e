"""Compression of pages and of the API's replies."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

COMPRESSED = ("text/html", "application/json", "application/problem+json")


class CompressionMiddleware(GZipMiddleware):
    """Compress HTML and JSON with gzip where the client accepts it, and nothing else.

    Event streams and exports are not compressed, since that would delay them. The BREACH attack guesses a secret from
    the lengths of compressed replies. Django protects the CSRF token: it masks the token differently in each reply and
    adds random padding. An API token is only in the reply to the POST that creates it.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith(COMPRESSED):
            return response
        return super().process_response(request, response)
