"""Short replies to writes for clients that ask for them, compression, and fields that are unknown here."""

import gzip
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from tests.contract.test_patch_operations import messages, now, url

MINIMAL = {"HTTP_PREFER": "return=minimal"}


def test_a_patch_of_one_key_sends_back_names_alone(alice: APIClient, chat: dict[str, Any]) -> None:
    large = {"large": "x" * 100_000}
    first = alice.post(url(chat, "patch-metadata"), {"integrity": chat["integrity"], "metadata": large})
    known = {"integrity": first.json()["integrity"]}
    reply = alice.post(url(chat, "patch-metadata"), known | {"metadata": {"a": 1}}, **MINIMAL)
    assert reply.json() == {name: now(alice, chat)[name] for name in ("integrity", "rev")}
    assert reply["Preference-Applied"] == "return=minimal"
    named = alice.patch(f"/api/v1/chats/{chat['id']}/", {"title": "x"}, HTTP_PREFER="wait=10, Return=Minimal; foo")
    assert named.json() == {name: now(alice, chat)[name] for name in ("id", "integrity", "rev")}


def test_an_append_names_what_it_stored(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = alice.post(url(chat, "append"), {"messages": [{"mes": "a"}, {"mes": "b"}]}, **MINIMAL)
    assert (reply.status_code, reply.json().keys()) == (201, {"integrity", "rev", "appended"})
    assert reply.json()["appended"] == [{"rev": 1, "id": row["id"]} for row in messages(alice, chat)[-2:]]
    undone = alice.post(url(chat, "undo"), {}, **MINIMAL).json()
    assert undone["deleted"] == [row["id"] for row in reply.json()["appended"]]
    scene = alice.post(url(chat, "scenes"), {"index": 0}, **MINIMAL).json()
    assert scene["scene"] == {"id": messages(alice, chat)[0]["id"]}


def test_errors_searches_and_reads_are_whole(alice: APIClient, chat: dict[str, Any]) -> None:
    assert "detail" in alice.post(url(chat, "append"), {}, **MINIMAL).json()
    assert "method" in alice.post("/api/v1/memories/search/", {"query": "stone"}, **MINIMAL).json()
    assert alice.get(f"/api/v1/chats/{chat['id']}/", **MINIMAL).json() == chat


def test_a_retry_gets_the_stored_reply(alice: APIClient, chat: dict[str, Any]) -> None:
    sent = [
        alice.post(url(chat, "append"), {"message": {"mes": "a"}}, HTTP_IDEMPOTENCY_KEY="k", **MINIMAL) for _ in "ab"
    ]
    assert sent[0].json() == sent[1].json()
    assert sent[1]["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("accepts", ["gzip", ""])
def test_replies_are_compressed_where_the_client_accepts_it(
    alice: APIClient, chat: dict[str, Any], accepts: str
) -> None:
    body = {"integrity": chat["integrity"], "metadata": {"large": "word " * 1000}}
    written = alice.post(url(chat, "patch-metadata"), body, HTTP_ACCEPT_ENCODING=accepts)
    read = alice.get(f"/api/v1/chats/{chat['id']}/", HTTP_ACCEPT_ENCODING=accepts)
    for reply in (written, read):
        assert reply.headers.get("Content-Encoding", "") == accepts
        content = gzip.decompress(reply.content) if accepts else reply.content
        assert json.loads(content)["metadata"]["large"] == "word " * 1000
        assert len(reply.content) < 1000 or not accepts


def test_unknown_fields_of_a_message_come_back(alice: APIClient, chat: dict[str, Any]) -> None:
    line = {"mes": "a", "force_avatar": "a.png", "gen_id": 1.5, "title": None, "rev": 77}
    alice.post(url(chat, "append"), {"message": line})
    window = alice.get(f"{url(chat, 'messages')}?from=-1").json()
    feed = alice.get(url(chat, "changes"), {"since": chat["rev"]}).json()
    for message in (window["results"][0], feed["changes"][0]["messages"][0]):
        assert (message["force_avatar"], message["gen_id"], message["title"], message["rev"]) == ("a.png", 1.5, None, 1)
    # A copy sent back makes the same message.
    alice.post(url(chat, "append"), {"message": window["results"][0]})
    again = messages(alice, chat)[-1]
    assert (again["force_avatar"], again["index"]) == ("a.png", 4)


def test_unknown_fields_of_a_file_come_back_and_repaired_ones_do_not(alice: APIClient) -> None:
    file = SimpleUploadedFile("a.jsonl", b'{"name":"A","mes":"a","swipes":"broken","seen":{"by":[1]},"hidden":"x"}')
    chat = alice.post("/api/v1/chats/import/", {"file": file}, format="multipart").json()["chats"][0]
    (message,) = messages(alice, chat)
    assert (message["seen"], message["swipes"], message["hidden"]) == ({"by": [1]}, ["a"], False)
