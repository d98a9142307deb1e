"""Title, character, user name and persona of a chat: with an integrity, and undone."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from tests.contract.conftest import client_of
from tests.contract.test_patch_operations import now, patch


def address(chat: dict[str, Any], rest: str = "") -> str:
    return f"/api/v1/chats/{chat['id']}/{rest}"


def change(client: APIClient, chat: dict[str, Any], **body: Any) -> Any:
    return client.patch(address(chat), body)


def undo(client: APIClient, chat: dict[str, Any], **body: Any) -> Any:
    return client.post(address(chat, "undo/"), body)


def test_an_outdated_integrity_is_a_conflict_that_shows_the_changes(alice: APIClient, chat: dict[str, Any]) -> None:
    program = client_of(alice.user)
    theirs = change(program, chat, title="The pier", integrity=chat["integrity"])
    assert theirs.status_code == 200
    mine = change(alice, chat, title="The quay", integrity=chat["integrity"])
    assert (mine.status_code, mine.json()["type"]) == (409, "/problems/integrity-conflict")
    assert mine.json()["current_integrity"] == theirs.json()["integrity"]
    assert [entry["chat"]["title"] for entry in mine.json()["changes"]] == ["The pier"]
    assert now(alice, chat)["title"] == "The pier"
    assert change(alice, chat, title="The quay").json()["title"] == "The quay"  # without one, the last write wins


def test_what_is_in_effect_already_is_no_conflict(alice: APIClient, chat: dict[str, Any]) -> None:
    first = change(alice, chat, title="The quay", integrity=chat["integrity"]).json()
    assert change(alice, chat, title="The quay", integrity=chat["integrity"]).json() == first


def test_a_rebase_accepts_what_others_left_alone(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 0, "set": {"mes": "x"}})
    change(alice, chat, user_name="Wanda")
    known = {"integrity": chat["integrity"], "on_conflict": "rebase"}
    assert change(alice, chat, title="The quay", **known).status_code == 200
    refused = change(alice, chat, user_name="Wilma", **known)
    assert (refused.status_code, refused.json()["conflicts"]) == (409, [{"key": "user_name", "theirs": "Wanda"}])


@pytest.mark.parametrize("by_rev", [True, False])
def test_a_change_of_the_details_is_undone(alice: APIClient, chat: dict[str, Any], by_rev: bool) -> None:
    mira = alice.post("/api/v1/characters/", {"name": "Mira"}).json()["id"]
    persona = alice.post("/api/v1/personas/", {"name": "Wanda"}).json()["id"]
    changed = change(alice, chat, title="The quay", character=mira, persona=persona).json()
    assert changed["user_name"] == "Wanda"
    undone = undo(alice, chat, **({"rev": changed["rev"]} if by_rev else {}))
    assert (undone.status_code, undone.json()["kind"]) == (200, "details")
    before = {name: chat[name] for name in ("title", "character", "user_name", "persona", "message_count")}
    assert {name: now(alice, chat)[name] for name in before} == before
    feed = alice.get(address(chat, "changes/"), {"since": changed["rev"]}).json()["changes"]
    assert [entry["chat"] and entry["chat"]["title"] for entry in feed] == [chat["title"]]


def test_an_undo_of_what_was_changed_again_since_is_a_conflict(alice: APIClient, chat: dict[str, Any]) -> None:
    first = change(alice, chat, title="The quay", user_name="Wanda").json()["rev"]
    second = change(client_of(alice.user), chat, title="The pier").json()["rev"]
    refused = undo(alice, chat, rev=first)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/undo-conflict")
    assert refused.json()["conflicts"] == [{"key": "title", "theirs": "The pier"}]
    assert undo(alice, chat).status_code == 409  # another token wrote last
    assert undo(alice, chat, rev=second).status_code == 200
    assert undo(alice, chat, rev=first).status_code == 200
    assert now(alice, chat)["title"] == chat["title"]


def test_a_character_deleted_since_is_none_after_an_undo(alice: APIClient, chat: dict[str, Any]) -> None:
    mira = alice.post("/api/v1/characters/", {"name": "Mira"}).json()["id"]
    change(alice, chat, character=mira)
    rev = change(alice, chat, character=None).json()["rev"]
    alice.delete(f"/api/v1/characters/{mira}/")
    assert undo(alice, chat, rev=rev).status_code == 200
    assert now(alice, chat)["character"] is None


def test_an_imported_header_is_as_it_was_after_an_undo(alice: APIClient) -> None:
    content = (
        b'{"user_name":"unused","character_name":"Mira","create_date":"x","chat_metadata":{}}\n{"name":"A","mes":"a"}'
    )
    file = SimpleUploadedFile("a.jsonl", content)
    chat = alice.post("/api/v1/chats/import/", {"file": file}, format="multipart").json()["chats"][0]
    change(alice, chat, user_name="Wanda", character=None)
    assert undo(alice, chat).status_code == 200
    assert alice.get(address(chat, "export/?format=jsonl")).getvalue() == content


def test_pins_need_no_integrity_and_leave_it_as_it_is(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 0, "set": {"mes": "x"}})
    before = now(alice, chat)["integrity"]
    pinned = change(alice, chat, pinned=True).json()
    assert (pinned["pinned"], pinned["integrity"]) == (True, before)
    assert change(alice, chat, pinned=False, title="The quay", integrity=before).json()["pinned"] is False


@pytest.mark.parametrize("title", [None, "The heist", "The quay"])  # "The heist" is its title already
def test_an_outdated_integrity_keeps_a_chat_where_it_is_in_the_list(
    alice: APIClient, chat: dict[str, Any], title: str | None
) -> None:
    patch(alice, chat, {"index": 0, "set": {"mes": "x"}})
    before = now(alice, chat)
    fields = {"pinned": True, "folder": "Old"} | ({"title": title} if title else {})
    refused = change(alice, chat, **fields, integrity=chat["integrity"])
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/integrity-conflict")
    assert [entry["rev"] for entry in refused.json()["changes"]] == [before["rev"]]
    assert change(alice, chat, **fields, integrity=str(uuid4())).status_code == 409
    assert now(alice, chat) == before
    assert change(alice, chat, **fields, integrity=chat["integrity"], on_conflict="rebase").json()["pinned"] is True
    # What is in effect already is no conflict, nor is what is forced.
    assert change(alice, chat, **fields, integrity=chat["integrity"]).status_code == 200
    assert change(alice, chat, pinned=False, integrity=chat["integrity"], force=True).json()["pinned"] is False
