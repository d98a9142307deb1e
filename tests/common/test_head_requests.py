"""A response to a HEAD request has no body, and the length that the one to a GET request has."""

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from apps.common.http.responses import HeadMiddleware
from tests.coroutines import in_thread


@pytest.mark.parametrize(("method", "body"), [("HEAD", b""), ("GET", b"abc")])
def test_a_head_request_gets_no_body(method: str, body: bytes) -> None:
    request = RequestFactory().generic(method, "/")
    response = HeadMiddleware(lambda request: HttpResponse(b"abc"))(request)
    assert isinstance(response, HttpResponse)
    assert response.content == body
    if method == "HEAD":
        assert response["Content-Length"] == "3"


def test_a_stream_sends_nothing_to_a_head_request() -> None:
    async def pieces():
        yield b"abc"

    async def received(response: StreamingHttpResponse) -> list[bytes]:
        return [piece async for piece in response]

    request = RequestFactory().head("/")
    response = HeadMiddleware(lambda request: StreamingHttpResponse(pieces()))(request)
    assert isinstance(response, StreamingHttpResponse)
    assert in_thread(lambda: received(response)) == []
    response = HeadMiddleware(lambda request: StreamingHttpResponse([b"abc"]))(request)
    assert isinstance(response, StreamingHttpResponse)
    assert list(response) == []
