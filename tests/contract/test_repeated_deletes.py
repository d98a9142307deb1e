"""A delete that is in effect already is a no-op, whichever state of the chat its client knows."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from tests.contract.test_patch_operations import messages, now, patch, texts


def test_a_message_that_is_deleted_is_deleted_again_for_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    deleted, other = (message["id"] for message in messages(alice, chat)[:2])
    first = patch(alice, chat, {"id": deleted, "delete": True}).json()
    again = patch(alice, chat, {"id": deleted, "delete": True})
    assert (again.status_code, again.json()["rev"], again.json()["skipped"]) == (200, first["rev"], 1)
    both = patch(alice, chat, {"id": deleted, "delete": True}, {"id": other, "set": {"mes": "x"}}).json()
    assert (both["applied"], both["skipped"], texts(alice, chat)) == (1, 1, ["x", "Then let us go."])
    twice = patch(alice, chat, {"id": other, "delete": True}, {"id": other, "delete": True}).json()
    assert (twice["applied"], twice["skipped"], len(texts(alice, chat))) == (1, 1, 1)


def test_only_a_delete_may_name_what_is_deleted_and_only_what_was_there(
    alice: APIClient, charlie: APIClient, chat: dict[str, Any]
) -> None:
    deleted = messages(alice, chat)[0]["id"]
    patch(alice, chat, {"id": deleted, "delete": True})
    assert patch(alice, chat, {"id": deleted, "set": {"mes": "x"}}).json()["errors"][0]["pointer"] == "/patches/0/id"
    assert patch(alice, chat, {"id": str(uuid4()), "delete": True}).status_code == 400
    theirs = charlie.post("/api/v1/chats/", {"title": "Another"}).json()
    assert patch(charlie, theirs, {"id": deleted, "delete": True}).status_code == 400


def test_a_deleted_message_that_came_back_is_deleted_again(alice: APIClient, chat: dict[str, Any]) -> None:
    deleted = messages(alice, chat)[0]["id"]
    patch(alice, chat, {"id": deleted, "delete": True})
    alice.post(f"/api/v1/chats/{chat['id']}/undo/", {})
    assert patch(alice, chat, {"id": deleted, "delete": True}).json()["applied"] == 1
    assert now(alice, chat)["message_count"] == 2


DELETABLE = {
    "chats": {"title": "The heist"},
    "memories": {"text": "Mira plays the harp.", "kind": "fact", "tier": "session"},
    "journal": {"granularity": "significant", "period": "2026-11-21", "title": "The heist", "text": "It went well."},
    "personas": {"name": "Nora"},
}


@pytest.mark.parametrize("kind", DELETABLE)
def test_what_can_be_taken_back_is_deleted_again_for_nothing(
    alice: APIClient, charlie: APIClient, chat: dict[str, Any], kind: str
) -> None:
    body = DELETABLE[kind] | ({"chat": chat["id"]} if kind == "memories" else {})
    url = f"/api/v1/{kind}/{alice.post(f'/api/v1/{kind}/', body).json()['id']}/"
    assert charlie.delete(url).status_code == 404
    assert [alice.delete(url).status_code for _ in range(2)] == [204, 204]
    assert alice.get(url).status_code == 404
    assert charlie.delete(url).status_code == 404
