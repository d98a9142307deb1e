"""Middleware on how responses are sent: compressed, piece by piece, without a body to HEAD, as lossless redirects."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import (
    FileResponse,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
    StreamingHttpResponse,
)
from django.middleware.common import CommonMiddleware
from django.middleware.gzip import GZipMiddleware

from apps.common.http.middleware import Middleware

COMPRESSED = ("text/html", "application/json", "application/problem+json")
FILE_BLOCK_BYTES = 64 * 1024  # each costs two switches of threads: with Django's 4 KB, 50 MB took a second of CPU


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


class AsyncStreamMiddleware(Middleware):
    """Have responses with a plain iterator iterated asynchronously under ASGI.

    Django would warn, and read all of such a response into memory before it sends any of it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(request, ASGIRequest) and isinstance(response, StreamingHttpResponse) and not response.is_async:
            if isinstance(response, FileResponse):
                response.block_size = FILE_BLOCK_BYTES
            response.streaming_content = _iterate_async(iter(response))
        return response


async def _iterate_async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    next_piece = sync_to_async(partial(next, pieces, None))
    while (piece := await next_piece()) is not None:
        yield piece


class HeadMiddleware(Middleware):
    """Remove the body of the response to a HEAD request. Its length stays known."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method != "HEAD":
            return response
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _nothing() if response.is_async else ()
        elif isinstance(response, HttpResponse):
            response.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response


async def _nothing() -> AsyncIterator[bytes]:
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece


class PermanentRedirect(HttpResponsePermanentRedirect):
    """Redirect that keeps method and body: after a 301, clients repeat a POST as a GET without its body."""

    status_code = 308


class SlashMiddleware(CommonMiddleware):
    """Django's common middleware, whose redirects lose no write."""

    response_redirect_class = PermanentRedirect
