"""A write refuses query parameters that it doesn't read, before it writes anything."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.contract.test_patch_operations import messages, now, url


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("patch", "/api/v1/chats/{chat}/", {"title": "x"}),
        ("delete", "/api/v1/chats/{chat}/", {}),
        ("post", "/api/v1/chats/{chat}/append/", {"message": {"mes": "x"}}),
        ("put", "/api/v1/chats/{chat}/messages/{message}/data/notes/a/", {"value": 1}),
        ("delete", "/api/v1/chats/{chat}/messages/{message}/data/notes/a/", {}),
        ("post", "/api/v1/chats/{chat}/scenes/", {"index": 0}),
        ("post", "/api/v1/memories/", {"text": "Tom sold the ferry.", "kind": "event"}),
        ("post", "/api/v1/journal/", {"granularity": "significant", "period": "2026-11-21", "text": "It was."}),
    ],
)
def test_an_unknown_parameter_of_a_write_is_refused_by_its_name(
    alice: APIClient, chat: dict[str, Any], method: str, path: str, body: dict[str, Any]
) -> None:
    path = path.format(chat=chat["id"], message=messages(alice, chat)[0]["id"])
    reply = getattr(alice, method)(f"{path}?swip=1&~=2", body)
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == ["/swip", "/~0"]
    assert now(alice, chat) == chat


def test_parameters_of_reads_and_known_ones_of_writes_are_taken(alice: APIClient, chat: dict[str, Any]) -> None:
    assert alice.get(f"{url(chat, 'messages')}?unknown=1").status_code == 200
    alice.post("/api/v1/instances/", {"id": "desk", "type": "cli", "name": "Desk"})
    assert alice.post("/api/v1/sync/pull/?limit=5", {"instance": "desk", "since": None}).status_code == 200
    assert alice.delete(f"/api/v1/chats/{chat['id']}/?purge=true").status_code == 204


def test_nobody_signed_in_is_told_so_first(client: Any, chat: dict[str, Any]) -> None:
    assert client.post(f"{url(chat, 'append')}?unknown=1").status_code == 401
