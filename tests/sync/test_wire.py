"""Test request bodies and retries with the real web server."""

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest

from apps.accounts.models import User
from apps.accounts.operations import create_token
from tests.conftest import WebServer

pytestmark = pytest.mark.django_db(transaction=True)
LINES = b'{"user_name":"Alice","character_name":"Mira"}\n{"name":"Mira","is_user":false,"mes":"Hello."}\n'
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(web_server: WebServer) -> Iterator[httpx.Client]:
    _, secret = create_token(User.objects.create_user("alice@example.com"), name="test")
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=f"{web_server.url}/api/v1/", headers=headers, timeout=60, trust_env=False) as client:
        yield client


def chunked(body: bytes) -> Iterator[bytes]:
    """Yield a body in pieces, so that it is sent in chunks without a length."""
    for start in range(0, len(body), 7):
        yield body[start : start + 7]


def test_all_kinds_of_bodies_and_retries_after_a_restart(client: httpx.Client, web_server: WebServer) -> None:
    document = json.dumps({"title": "Größe"}).encode()
    packed = JSON | {"Content-Encoding": "gzip"}
    for number, (body, headers) in enumerate(
        [
            (document, JSON),
            (gzip.compress(document), packed),
            (chunked(document), JSON),
            (chunked(gzip.compress(document)), packed),
        ]
    ):
        reply = client.post("chats/", content=body, headers=headers | {"Idempotency-Key": f"k{number}"})
        assert (reply.status_code, reply.json()["title"]) == (201, "Größe"), (number, reply.text)
    form = {"files": {"file": ("chat.jsonl", LINES)}, "headers": {"Idempotency-Key": "form"}}
    first = client.post("chats/import/", **form)
    assert first.status_code == 201, first.text
    web_server.kill()
    web_server.start()
    again = client.post("chats/import/", **form)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(client.get("chats/").json()["results"]) == 5
