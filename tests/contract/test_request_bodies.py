"""Compressed bodies, on every route of the API, and the limits of all bodies."""

import gzip
import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from rest_framework.test import APIClient

from apps.chats.models import Chat

LINES = b'{"user_name":"Alice","character_name":"Mira"}\n{"name":"Mira","is_user":false,"mes":"Hello."}\n'


def send(client: APIClient, path: str, body: bytes, *, content_type: str = "application/json", **headers: Any) -> Any:
    return client.generic("POST", f"/api/v1/{path}", body, content_type=content_type, **headers)


def form(content: bytes) -> bytes:
    return encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("chat.jsonl", content), "title": "Packed"})


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
def test_json_may_come_packed(alice: APIClient, encoding: str) -> None:
    body = gzip.compress(json.dumps({"title": "Größe 🗝"}).encode())
    reply = send(alice, "chats/", body, HTTP_CONTENT_ENCODING=encoding)
    assert (reply.status_code, reply.json()["title"]) == (201, "Größe 🗝")


def test_a_body_in_several_members_is_one(alice: APIClient) -> None:
    body = gzip.compress(b'{"title":') + gzip.compress(b'"Two"}')
    assert send(alice, "chats/", body, HTTP_CONTENT_ENCODING="gzip").json()["title"] == "Two"


def test_a_form_may_come_packed(alice: APIClient) -> None:
    packed = gzip.compress(form(LINES))
    reply = send(alice, "chats/import/", packed, content_type=MULTIPART_CONTENT, HTTP_CONTENT_ENCODING="gzip")
    assert reply.status_code == 201, reply.content
    assert [(chat["title"], chat["message_count"]) for chat in reply.json()["chats"]] == [("Packed", 1)]


def test_packed_or_not_a_body_is_the_same_to_its_key(alice: APIClient) -> None:
    body, key = b'{"title": "Once"}', {"HTTP_IDEMPOTENCY_KEY": "k"}
    plain = send(alice, "chats/", body, **key)
    packed = send(alice, "chats/", gzip.compress(body), HTTP_CONTENT_ENCODING="gzip", **key)
    assert packed.json() == plain.json()
    assert packed["Idempotent-Replayed"] == "true"


def test_what_a_packed_body_becomes_is_counted(alice: APIClient, settings: Any) -> None:
    settings.RATE_LIMITS = {"bodies": "4/m"}
    packed = gzip.compress(b'{"title": "A"' + b" " * 3 * 1024 * 1024 + b"}")
    assert send(alice, "chats/", packed, HTTP_CONTENT_ENCODING="gzip").status_code == 201
    refused = send(alice, "chats/", packed, HTTP_CONTENT_ENCODING="gzip")
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/throttled")
    assert "4 MB in large bodies in 60 s" in refused.json()["detail"]
    assert int(refused["Retry-After"]) > 0
    assert send(alice, "chats/", gzip.compress(b'{"title": "B"}'), HTTP_CONTENT_ENCODING="gzip").status_code == 201


def test_identity_is_no_packing(alice: APIClient) -> None:
    assert send(alice, "chats/", b'{"title": "A"}', HTTP_CONTENT_ENCODING="identity").status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "A"}',
        gzip.compress(b'{"title": "A"}')[:-9],
        gzip.compress(b'{"title": "A"}')[:-8] + bytes(8),
        gzip.compress(b'{"title": "A"}') + b"more",
    ],
    ids=["plain", "cut short", "a wrong checksum", "more behind it"],
)
def test_what_is_no_gzip_is_a_400(alice: APIClient, body: bytes) -> None:
    reply = send(alice, "chats/", body, HTTP_CONTENT_ENCODING="gzip")
    assert (reply.status_code, reply["Content-Type"]) == (400, "application/problem+json")
    assert not Chat.objects.for_owner(alice.user).exists()


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd"])
def test_another_encoding_is_a_415_that_says_which_are_taken(alice: APIClient, encoding: str) -> None:
    reply = send(alice, "chats/", b"x", HTTP_CONTENT_ENCODING=encoding)
    assert (reply.status_code, reply["Accept-Encoding"]) == (415, "gzip, identity")
    assert reply.json()["type"] == "/problems/unsupported-media-type"


def test_the_limit_holds_after_unpacking(alice: APIClient, settings: Any) -> None:
    settings.REQUEST_MAX_BYTES = 1000
    bomb = gzip.compress(json.dumps({"title": "x" * 1000}).encode())
    assert len(bomb) < 100
    for body, headers in ((bomb, {"HTTP_CONTENT_ENCODING": "gzip"}), (gzip.decompress(bomb), {})):
        reply = send(alice, "chats/", body, **headers)
        assert (reply.status_code, reply.json()["type"]) == (413, "/problems/too-large")


def test_a_file_has_a_limit_of_its_own(alice: APIClient, settings: Any) -> None:
    settings.REQUEST_MAX_BYTES, settings.IMPORT_MAX_BYTES = 10, 100_000
    small, large = LINES, LINES + LINES.splitlines()[1] * 10_000
    for content, status in ((small, 201), (large, 413)):
        body = gzip.compress(form(content))
        reply = send(alice, "chats/import/", body, content_type=MULTIPART_CONTENT, HTTP_CONTENT_ENCODING="gzip")
        assert reply.status_code == status, reply.content
    assert Chat.objects.for_owner(alice.user).count() == 1


def test_a_bomb_is_never_in_memory(alice: APIClient, settings: Any) -> None:
    """It unpacks to 1 GB; were it unpacked, this would take many seconds."""
    settings.REQUEST_MAX_BYTES = 1000
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as target:
        for _ in range(64):
            target.write(bytes(1024 * 1024))
    body = packed.getvalue() * 16
    assert len(body) < 2**23
    settings.REQUEST_MAX_BYTES = len(body)
    assert send(alice, "chats/", body, HTTP_CONTENT_ENCODING="gzip").status_code == 413


def test_an_address_without_its_slash_loses_no_write(alice: APIClient) -> None:
    reply = alice.post("/api/v1/chats?x=1", {"title": "Harbour"})
    assert (reply.status_code, reply["Location"]) == (308, "/api/v1/chats/?x=1")
    assert alice.post("/api/v1/chats", {"title": "Harbour"}, follow=True).json()["title"] == "Harbour"
