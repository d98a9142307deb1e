"""The web server refuses bodies while they arrive: too large ones, and large ones that nobody signed in sends."""

import socket
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.urls import get_resolver

from apps.accounts.middleware.arriving_bodies import BodyLimits
from apps.accounts.middleware.throttling import MEGABYTE
from apps.accounts.models import User
from apps.accounts.operations import create_token
from tests.conftest import WebServer
from tests.coroutines import in_thread
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
CHUNKED = "Transfer-Encoding: chunked"
ENDLESS = "Content-Length: 10000000000"


def response_to(server: WebServer, path: str, *headers: str, sent: bytes = b"") -> str:
    """The response to a request of which only a part is sent: the server answers before the rest, or never."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall("\r\n".join(lines).encode() + sent)
        received = b""
        while not received.endswith(b"}") and (part := connection.recv(65536)):
            received += part
        return received.decode()


def session_of(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


@pytest.fixture
def credentials() -> dict[str, str]:
    user = UserFactory()
    return {
        "nobody": "X-Nobody: 1",
        "a wrong token": "Authorization: Bearer loci_wrong",
        "a wrong session": "Cookie: sessionid=abcdefghijklmnopqrstuvwxyz012345",
        "no session": 'Cookie: sessionid="\\000\\000\\000\\000\\000\\000\\000\\000"',
        "a token": f"Authorization: Bearer {create_token(user, name='test')[1]}",
        "a session": f"Cookie: theme=dark; sessionid={session_of(user)}",
    }


@pytest.mark.parametrize("framing", [ENDLESS, CHUNKED], ids=["declared", "chunked"])
def test_a_large_body_is_refused_at_once(web_server: WebServer, credentials: Any, framing: str) -> None:
    expected = {"nobody": 401, "a wrong token": 401, "a wrong session": 401, "no session": 401}
    if framing == ENDLESS:  # a chunked one is received up to the limit
        expected |= {"a token": 413, "a session": 413}
    for name, status in expected.items():
        for path in ("/api/v1/chats/", "/v1/chat/completions"):
            sent = CHUNK * 2 if framing == CHUNKED else b""
            response = response_to(web_server, path, credentials[name], framing, sent=sent)
            assert response.startswith(f"HTTP/1.1 {status} "), (name, path, response)
            assert ('"type": "/problems/' in response) == path.startswith("/api/"), response
            assert ("www-authenticate" in response.lower()) == (status == 401)
            assert "\r\nconnection: close\r\n" in response.lower(), "a second request would not be answered"


def test_a_chunked_body_is_refused_once_it_is_too_large(web_server: WebServer, credentials: Any) -> None:
    part = CHUNK * (2 * 1024)  # two times the largest body
    response = response_to(web_server, "/api/v1/chats/", credentials["a token"], CHUNKED, sent=part)
    assert response.startswith("HTTP/1.1 413 ")


@pytest.mark.parametrize(("who", "status"), [("a token", 413), ("nobody", 401)])
def test_who_sends_a_refused_body_to_its_end_reads_the_refusal(
    web_server: WebServer, credentials: Any, who: str, status: int
) -> None:
    size = 80_000_000
    for _ in range(3):
        length = f"Content-Length: {size}"
        response = response_to(web_server, "/api/v1/chats/", credentials[who], length, sent=b" " * size)
        assert response.startswith(f"HTTP/1.1 {status} ")


def test_who_asks_before_sending_is_not_told_to_go_on_after_the_refusal(
    web_server: WebServer, credentials: Any
) -> None:
    lines = ["POST /api/v1/chats/ HTTP/1.1", "Host: localhost", credentials["a token"], ENDLESS, "Expect: 100-continue"]
    with socket.create_connection(("127.0.0.1", web_server.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in received


def test_what_is_small_or_allowed_arrives(web_server: WebServer, credentials: Any) -> None:
    large = b'{"title": "A", "user_name": "B"' + b" " * 100_000 + b"}"
    length = f"Content-Length: {len(large)}"
    assert " 201 " in response_to(web_server, "/api/v1/chats/", credentials["a token"], length, sent=large)[:20]
    chunked = f"{len(large):x}\r\n".encode() + large + b"\r\n0\r\n\r\n"
    response = response_to(web_server, "/api/v1/chats/", credentials["a token"], CHUNKED, sent=chunked)
    assert " 201 " in response[:20]
    assert "connection: close" not in response.lower()
    assert " 401 " in response_to(web_server, "/api/v1/chats/", "Content-Length: 2", sent=b"{}")[:20]


CHATS, IMPORT = "/api/v1/chats/", "/api/v1/chats/import/"
JSON, FILE = b"application/json", b"multipart/form-data; boundary=x"


def statuses_of(bodies: list[tuple[int, bytes, str]], authorization: str) -> list[int]:
    """Those of bodies, each of some megabytes, which are sent to an application that answers 200."""
    statuses: list[int] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        if "status" in message:
            statuses.append(message["status"])

    async def send_all() -> None:
        for size, content_type, path in bodies:
            headers = [(b"authorization", authorization.encode()), (b"content-type", content_type)]
            parts = [MEGABYTE // 2] * (size * 2)

            async def receive(parts: list[int] = parts) -> Any:
                return {"body": b" " * parts.pop(), "more_body": bool(parts)}

            scope = {"type": "http", "path": path, "headers": headers}
            await BodyLimits(application)(scope, receive, send)

    in_thread(send_all)
    return statuses


def secret() -> str:
    return f"Bearer {create_token(UserFactory(), name='test')[1]}"


def test_megabytes_are_counted_while_they_arrive(settings: Any) -> None:
    settings.RATE_LIMITS = {"bodies": "5/m", "uploads": "7/m"}
    user = secret()
    assert statuses_of([(3, JSON, CHATS), (3, JSON, CHATS)], user) == [200, 429]
    assert statuses_of([(3, FILE, CHATS)], user) == [429], "a file of which the route knows nothing"
    assert statuses_of([(4, FILE, IMPORT), (4, FILE, IMPORT)], user) == [200, 429]
    assert statuses_of([(20, JSON, CHATS), (1, JSON, CHATS)], secret()) == [200, 429]
    settings.RATE_LIMITS = {"bodies": ""}
    assert statuses_of([(3, JSON, CHATS), (3, FILE, IMPORT)], user) == [200, 200]


def test_only_routes_of_files_take_large_ones(settings: Any) -> None:
    settings.REQUEST_MAX_BYTES, settings.IMPORT_MAX_BYTES = 2 * MEGABYTE, 4 * MEGABYTE
    elsewhere = [CHATS, "/characters/new/", "/accounts/login/", "/v1/chat/completions", "/no/such/page"]
    assert statuses_of([(3, FILE, path) for path in elsewhere], secret()) == [413] * 5
    routes = ["/api/v1/imports/", IMPORT, "/chats/import/", "/characters/import/", "/settings/snapshots/upload/"]
    assert statuses_of([(3, FILE, path) for path in routes], secret()) == [200] * 5
    assert statuses_of([(5, FILE, IMPORT), (3, JSON, IMPORT)], secret()) == [413, 413]


def test_each_route_of_files_exists(settings: Any) -> None:
    named = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    spaces = get_resolver().namespace_dict
    for route in settings.UPLOAD_ROUTES | set().union(*settings.RATE_LIMIT_SCOPES.values()):
        space, _, name = route.rpartition(":")
        assert name in (spaces[space][1].reverse_dict if space else named), route
