"""Under ASGI, responses that are read from files or the database are sent piece by piece."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient, AsyncRequestFactory, RequestFactory

from apps.accounts.models import User
from apps.common.http.responses import AsyncStreamMiddleware
from tests.coroutines import in_thread
from tests.factories import UserFactory, make_chat
from tests.snapshots.making import made


async def pieces_of(response: HttpResponseBase) -> list[bytes]:
    assert isinstance(response, StreamingHttpResponse)
    with warnings.catch_warnings(action="error"):
        return [piece async for piece in response]


@pytest.fixture
def static_file() -> Iterator[Path]:
    path = settings.STATIC_ROOT / "streamed.txt"
    path.write_bytes(b"x" * 1_000_000)
    yield path
    path.unlink()


def get(path: str, user: User | None = None) -> list[bytes]:
    async def received() -> list[bytes]:
        client = AsyncClient()
        if user:
            await client.aforce_login(user)
        response = await client.get(path)
        assert response.status_code == 200
        return await pieces_of(response)

    return in_thread(received)


@pytest.mark.django_db(transaction=True)
def test_a_static_file_is_sent_piece_by_piece(static_file: Path) -> None:
    pieces = get(f"/static/{static_file.name}")
    assert b"".join(pieces) == static_file.read_bytes()
    assert 1 < len(pieces) < 30  # blocks of 64 KB, not of 4


@pytest.mark.django_db(transaction=True)
def test_the_archive_of_a_snapshot_is_sent_piece_by_piece() -> None:
    alice = UserFactory()
    make_chat(alice, "Where is the well?")
    snapshot = made(alice)
    path = f"/api/v1/snapshots/{snapshot.pk}/download/"
    assert len(b"".join(get(path, alice))) == snapshot.size


def test_what_is_streamed_is_read_while_it_is_sent() -> None:
    """Only under ASGI; otherwise the response stays as it is."""
    read: list[int] = []

    def numbers() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield b"%d" % number

    def respond(request: HttpRequest) -> HttpResponseBase:
        return StreamingHttpResponse(numbers())

    async def begin() -> bytes:
        response = AsyncStreamMiddleware(respond)(AsyncRequestFactory().get("/"))
        assert isinstance(response, StreamingHttpResponse)
        return await anext(aiter(response))

    assert (in_thread(begin), read) == (b"0", [0])
    response = AsyncStreamMiddleware(respond)(RequestFactory().get("/"))
    assert isinstance(response, StreamingHttpResponse)
    assert list(response) == [b"0", b"1", b"2"]
