"""The metadata of a chat: merged or patched under the rules of integrity, as api.md has them."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.snapshots.making import latest_rows

JSON_PATCH = "application/json-patch+json"


@pytest.fixture
def chat(alice: APIClient) -> dict[str, Any]:
    metadata = {"note": {"text": "old", "depth": 4}, "tags": ["a", "b"], "tainted": True}
    return alice.post("/api/v1/chats/", {"title": "The heist", "metadata": metadata}).json()


def merge(client: APIClient, chat: dict[str, Any], metadata: Any, **envelope: Any) -> Any:
    envelope = {"integrity": chat["integrity"]} | envelope
    return client.post(f"/api/v1/chats/{chat['id']}/patch-metadata/", {"metadata": metadata} | envelope)


def operate(client: APIClient, chat: dict[str, Any], *operations: Any, **envelope: Any) -> Any:
    body = {"integrity": chat["integrity"], "operations": operations} | envelope
    url = f"/api/v1/chats/{chat['id']}/patch-metadata/"
    return client.generic("POST", url, json.dumps(body), content_type=JSON_PATCH)


def stored(client: APIClient, chat: dict[str, Any]) -> Any:
    return client.get(f"/api/v1/chats/{chat['id']}/").json()["metadata"]


def changes(client: APIClient, chat: dict[str, Any]) -> list[dict[str, Any]]:
    return client.get(f"/api/v1/chats/{chat['id']}/changes/", {"since": chat["rev"]}).json()["changes"]


def test_a_merge_is_deep(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = merge(alice, chat, {"note": {"text": "new"}, "tags": ["c"], "tainted": None, "more": {"x": None, "y": 1}})
    assert reply.status_code == 200, reply.content
    body = reply.json()
    assert body["metadata"] == {"note": {"text": "new", "depth": 4}, "tags": ["c"], "more": {"y": 1}}
    assert (body["rev"], body["applied"], body["skipped"]) == (chat["rev"] + 1, 1, 0)
    assert body["metadata"] == stored(alice, chat)
    (change,) = changes(alice, chat)
    assert (change["kind"], change["metadata_replaced"]) == ("metadata", False)
    assert change["metadata"]["tainted"] is None


def test_operations_are_a_json_patch(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = operate(
        alice,
        chat,
        {"op": "test", "path": "/note/text", "value": "old"},
        {"op": "add", "path": "/tags/-", "value": "c"},
        {"op": "replace", "path": "/note/depth", "value": None},
        {"op": "remove", "path": "/tainted"},
    )
    assert reply.status_code == 200, reply.content
    assert reply.json()["metadata"] == {"note": {"text": "old", "depth": None}, "tags": ["a", "b", "c"]}
    (change,) = changes(alice, chat)
    assert (change["metadata_replaced"], change["replaced_keys"]) == (False, ["note"])
    assert change["metadata"] == {"note": {"text": "old", "depth": None}, "tags": ["a", "b", "c"], "tainted": None}


def test_a_null_is_a_change_of_its_key_alone(alice: APIClient, chat: dict[str, Any]) -> None:
    """Others rebase onto it, undo takes back no other key, and clients are told of no other one."""
    null = operate(alice, chat, {"op": "add", "path": "/nothing", "value": None}).json()
    rebased = merge(alice, chat, {"mine": 1}, integrity=chat["integrity"], on_conflict="rebase")
    assert rebased.status_code == 200, rebased.content
    refused = merge(alice, chat, {"nothing": 1}, integrity=chat["integrity"], on_conflict="rebase")
    assert [entry["key"] for entry in refused.json()["conflicts"]] == ["nothing"]
    first, second = changes(alice, chat)
    assert (first["metadata"], first["replaced_keys"]) == ({"nothing": None}, ["nothing"])
    assert (second["metadata"], second["replaced_keys"]) == ({"mine": 1}, [])
    undone = alice.post(f"/api/v1/chats/{chat['id']}/undo/", {"rev": null["rev"]})
    assert (undone.status_code, undone.json()["metadata"]) == (200, {"nothing": None})
    assert undone.json()["replaced_keys"] == []
    assert stored(alice, chat) == chat["metadata"] | {"mine": 1}


def test_each_media_type_has_its_own_member(alice: APIClient, chat: dict[str, Any]) -> None:
    url = f"/api/v1/chats/{chat['id']}/patch-metadata/"
    reply = alice.post(url, {"integrity": chat["integrity"], "operations": []})
    assert "/operations" in [error["pointer"] for error in reply.json()["errors"]]
    assert alice.generic("POST", url, "{}", content_type="text/plain").status_code == 415


def test_without_integrity_it_is_a_428_and_force_takes_a_snapshot(alice: APIClient, chat: dict[str, Any]) -> None:
    assert merge(alice, chat, {"a": 1}, integrity=None).status_code == 428
    assert "a" not in stored(alice, chat)
    assert merge(alice, chat, {"a": 1}, integrity=None, force=True).status_code == 200
    assert [row["rev"] for row in latest_rows(alice.user, "chats.Chat")] == [chat["rev"]]


def test_a_stale_write_is_a_409_with_the_changes(alice: APIClient, chat: dict[str, Any]) -> None:
    merge(alice, chat, {"theirs": 1})
    reply = merge(alice, chat, {"mine": 1})
    assert reply.status_code == 409
    assert reply.json()["type"] == "/problems/integrity-conflict"
    assert [change["metadata"] for change in reply.json()["changes"]] == [{"theirs": 1}]
    assert "mine" not in stored(alice, chat)


def test_it_is_rebased_by_its_top_level_keys(alice: APIClient, chat: dict[str, Any]) -> None:
    merge(alice, chat, {"note": {"text": "theirs"}})
    assert merge(alice, chat, {"mine": 1}, on_conflict="rebase").status_code == 200
    add = {"op": "add", "path": "/tags/-", "value": "c"}
    assert operate(alice, chat, add, on_conflict="rebase").status_code == 200
    for reply in (
        merge(alice, chat, {"note": {"depth": 1}, "mine": 1}, on_conflict="rebase"),
        operate(alice, chat, {"op": "remove", "path": "/note/depth"}, on_conflict="rebase"),
    ):
        assert reply.status_code == 409
        assert {"key": "note", "theirs": {"text": "theirs", "depth": 4}} in reply.json()["conflicts"]
    assert stored(alice, chat)["tags"] == ["a", "b", "c"]


def test_a_patch_of_everything_collides_with_any_change(alice: APIClient, chat: dict[str, Any]) -> None:
    merge(alice, chat, {"theirs": 1})
    reply = operate(alice, chat, {"op": "add", "path": "", "value": {}}, on_conflict="rebase")
    assert [conflict["key"] for conflict in reply.json()["conflicts"]] == ["theirs"]


def test_a_rebase_collides_with_a_key_that_went_when_all_was_replaced(alice: APIClient, chat: dict[str, Any]) -> None:
    """A null can't be logged as a merge patch, so the log holds all metadata and doesn't name what was removed."""
    reply = operate(alice, chat, {"op": "add", "path": "/empty", "value": None}, {"op": "remove", "path": "/note"})
    assert reply.status_code == 200
    late = merge(alice, chat, {"note": {"text": "mine"}}, on_conflict="rebase")
    assert (late.status_code, late.json()["conflicts"]) == (409, [{"key": "note", "theirs": None}])
    assert "note" not in stored(alice, chat)


def test_the_retry_of_a_lost_reply_writes_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    add = {"op": "add", "path": "/tags/-", "value": "c"}
    first = operate(alice, chat, add).json()
    again = operate(alice, chat, add)
    assert again.status_code == 200
    assert (again.json()["applied"], again.json()["skipped"]) == (0, 1)
    assert (again.json()["integrity"], again.json()["metadata"]) == (first["integrity"], first["metadata"])


def test_what_is_in_effect_already_is_skipped(alice: APIClient, chat: dict[str, Any]) -> None:
    merge(alice, chat, {"a": 1})
    merge(alice, chat, {"b": 2}, force=True)
    late = merge(alice, chat, {"b": 2, "a": 1})
    assert (late.status_code, late.json()["skipped"], late.json()["rev"]) == (200, 1, chat["rev"] + 2)
    assert merge(alice, chat, {"a": True}).status_code == 409  # to JSON, 1 is not true


def test_a_write_that_changes_nothing_is_counted_as_skipped(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = merge(alice, chat, {"tainted": True, "missing": None}).json()
    assert (reply["applied"], reply["skipped"], reply["rev"]) == (0, 1, chat["rev"])


def test_a_stale_patch_that_no_longer_fits_is_a_conflict(alice: APIClient, chat: dict[str, Any]) -> None:
    merge(alice, chat, {"tags": "none"})
    reply = operate(alice, chat, {"op": "add", "path": "/tags/-", "value": "c"})
    assert (reply.status_code, stored(alice, chat)["tags"]) == (409, "none")


def test_a_test_that_fails_names_its_operation(alice: APIClient, chat: dict[str, Any]) -> None:
    set_note = {"op": "replace", "path": "/note/text", "value": "x"}
    reply = operate(alice, chat, set_note, {"op": "test", "path": "/tainted", "value": 1})
    assert reply.status_code == 409
    assert reply.json()["type"] == "/problems/patch-test-failed"
    assert reply.json()["errors"][0]["pointer"] == "/operations/1/path"
    assert stored(alice, chat)["note"]["text"] == "old"


@pytest.mark.parametrize(
    ("operation", "pointer"),
    [
        ({"op": "add", "path": "", "value": 1}, "/operations"),
        ({"op": "merge", "path": "/a", "value": 1}, "/operations/0/op"),
        ({"op": "remove", "path": "/gone"}, "/operations/0/path"),
        ("remove", "/operations/0"),
    ],
)
def test_a_bad_operation_is_named_and_changes_nothing(
    alice: APIClient, chat: dict[str, Any], operation: Any, pointer: str
) -> None:
    reply = operate(alice, chat, operation)
    assert reply.status_code == 400, reply.content
    assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]
    assert stored(alice, chat) == chat["metadata"]


def test_metadata_have_a_largest_size(alice: APIClient, chat: dict[str, Any], settings: Any) -> None:
    settings.CHAT_METADATA_MAX_BYTES = 200
    for reply in (
        merge(alice, chat, {"long": "x" * 200}),
        operate(alice, chat, {"op": "add", "path": "/long", "value": "x" * 200}),
    ):
        assert reply.status_code == 413
        assert "CHAT_METADATA_MAX_BYTES" in reply.json()["detail"]
    assert stored(alice, chat) == chat["metadata"]
    assert alice.post("/api/v1/chats/", {"title": "x", "metadata": {"long": "x" * 200}}).status_code == 413
    settings.CHAT_METADATA_MAX_BYTES = 10
    assert merge(alice, chat, {"tags": None}).status_code == 200


def test_undo_brings_the_metadata_back(alice: APIClient, chat: dict[str, Any]) -> None:
    done = operate(alice, chat, {"op": "add", "path": "", "value": {"only": None}}).json()
    undone = alice.post(f"/api/v1/chats/{chat['id']}/undo/", {"integrity": done["integrity"]})
    assert undone.status_code == 200, undone.content
    assert stored(alice, chat) == chat["metadata"]
