"""Middleware that answers HEAD requests without a body, which ASGI servers expect of applications."""

from collections.abc import AsyncIterator, Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse


class HeadMiddleware:
    """Remove the body of the response to a HEAD request. Its length stays known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

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
