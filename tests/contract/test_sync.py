"""Append and patch under the rules of integrity, as api.md has them."""

import threading
import uuid
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.models import F
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import ChatChange
from apps.common.scoping import system_scope
from tests.contract.conftest import client_of
from tests.snapshots.making import latest_rows


def parsed_message(mes: str, *, is_user: bool = False) -> ParsedMessage:
    return ParsedMessage("Alice" if is_user else "Mira", is_user, False, "", None, 0, (ParsedSwipe(mes),), "")


def append(client: APIClient, chat: dict[str, Any], *texts: str, **envelope: Any) -> Any:
    messages = [{"name": "Alice", "is_user": True, "mes": text, "send_date": "2026-01-01"} for text in texts]
    return client.post(f"/api/v1/chats/{chat['id']}/append/", {"messages": messages} | envelope)


def patch(client: APIClient, chat: dict[str, Any], *patches: dict[str, Any], **envelope: Any) -> Any:
    return client.post(f"/api/v1/chats/{chat['id']}/patch/", {"patches": list(patches)} | envelope)


def texts(client: APIClient, chat: dict[str, Any]) -> list[str]:
    window = client.get(f"/api/v1/chats/{chat['id']}/messages/", {"limit": 200}).json()
    return [message["mes"] for message in window["results"]]


STORED = ["Where is the key?", "Under the blue stone.", "Then let us go."]


def test_an_append_takes_the_next_places(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = append(alice, chat, "One", "Two", integrity=chat["integrity"])
    assert reply.status_code == 201
    body = reply.json()
    assert body["integrity"] != chat["integrity"]
    assert (body["rev"], body["message_count"], body["deduplicated"]) == (chat["rev"] + 1, 5, 0)
    assert [(place["index"], place["rev"]) for place in body["appended"]] == [(3, 1), (4, 1)]
    assert texts(alice, chat) == [*STORED, "One", "Two"]


def test_a_message_keeps_its_swipes_and_unknown_fields(alice: APIClient, chat: dict[str, Any]) -> None:
    message = {
        "name": "Mira", "is_user": False, "mes": "b", "swipe_id": 1, "swipes": ["a", "b"],
        "swipe_info": [{"extra": {"n": 1}}, {"extra": {"n": 2}}], "extra": {"n": 2}, "odd": [1],
    }  # fmt: skip
    sent = alice.post(f"/api/v1/chats/{chat['id']}/append/", {"message": message})
    assert sent.status_code == 201, sent.content
    stored = alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"from": -1}).json()["results"][0]
    assert (stored["mes"], stored["swipes"], stored["swipe_id"]) == ("b", ["a", "b"], 1)
    assert [info["extra"]["n"] for info in stored["swipe_info"]] == [1, 2]


def test_a_stale_append_is_told_what_changed(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, "Meanwhile", integrity=chat["integrity"])
    reply = append(alice, chat, "Late", integrity=chat["integrity"])
    assert reply.status_code == 409
    problem = reply.json()
    now = alice.get(f"/api/v1/chats/{chat['id']}/").json()
    assert problem["type"] == "/problems/integrity-conflict"
    assert (problem["current_integrity"], problem["current_rev"]) == (now["integrity"], now["rev"])
    assert [[m["mes"] for m in change["messages"]] for change in problem["changes"]] == [["Meanwhile"]]
    assert texts(alice, chat) == [*STORED, "Meanwhile"]


def test_an_append_that_may_be_rebased_goes_behind(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, "Meanwhile", integrity=chat["integrity"])
    reply = append(alice, chat, "Late", integrity=chat["integrity"], on_conflict="rebase")
    assert reply.status_code == 201
    assert texts(alice, chat) == [*STORED, "Meanwhile", "Late"]


def test_the_retry_of_an_append_stores_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    first = append(alice, chat, "One", "Two", integrity=chat["integrity"]).json()
    again = append(alice, chat, "One", "Two", integrity=chat["integrity"])
    assert again.status_code == 201
    assert again.json()["deduplicated"] == 2
    assert again.json()["integrity"] == first["integrity"]
    assert again.json()["appended"] == first["appended"]
    assert texts(alice, chat) == [*STORED, "One", "Two"]


def test_the_retry_of_a_message_without_a_date_stores_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    body = {"integrity": chat["integrity"], "message": {"mes": "once", "is_user": True}}
    url = f"/api/v1/chats/{chat['id']}/append/"
    with time_machine.travel("2026-05-01T10:00:00Z", tick=False):
        first = alice.post(url, body).json()
    with time_machine.travel("2026-05-01T10:00:09Z", tick=False):
        again = alice.post(url, body).json()
    assert (again["deduplicated"], again["appended"]) == (1, first["appended"])
    stored = alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"from": -1}).json()["results"][0]
    assert (stored["name"], stored["send_date"]) == ("Alice", "2026-05-01T10:00:00Z")


def test_two_equal_messages_that_are_meant_are_both_kept(alice: APIClient, chat: dict[str, Any]) -> None:
    first = append(alice, chat, "ok", integrity=chat["integrity"]).json()
    second = append(alice, chat, "ok", integrity=first["integrity"]).json()
    assert second["deduplicated"] == 0
    assert texts(alice, chat) == [*STORED, "ok", "ok"]


def test_an_integrity_nobody_knows_is_a_conflict_without_changes(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = append(alice, chat, "x", integrity=str(uuid.uuid4()))
    assert reply.status_code == 409
    assert "changes" not in reply.json()


def test_a_patch_sets_fields_and_counts_the_rev(alice: APIClient, chat: dict[str, Any]) -> None:
    change = {"index": 1, "set": {"mes": "Under the red stone.", "is_system": True}}
    body = patch(alice, chat, change, integrity=chat["integrity"]).json()
    assert (body["applied"], body["skipped"], body["rev"]) == (1, 0, chat["rev"] + 1)
    message = alice.get(f"/api/v1/chats/{chat['id']}/messages/").json()["results"][1]
    assert (message["mes"], message["hidden"], message["rev"]) == ("Under the red stone.", True, 2)
    assert body["messages"] == [{"id": message["id"], "index": 1, "rev": 2}]


def test_a_patch_without_integrity_is_a_428(alice: APIClient, chat: dict[str, Any]) -> None:
    assert patch(alice, chat, {"index": 0, "set": {"mes": "x"}}).status_code == 428
    assert texts(alice, chat) == STORED


def test_a_stale_patch_is_a_409_and_changes_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, "Meanwhile", integrity=chat["integrity"])
    reply = patch(alice, chat, {"index": 0, "set": {"mes": "x"}}, integrity=chat["integrity"])
    assert reply.status_code == 409
    assert reply.json()["changes"][0]["kind"] == "append"
    assert texts(alice, chat) == [*STORED, "Meanwhile"]


def test_a_patch_is_rebased_over_what_it_does_not_touch(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 2, "set": {"mes": "Meanwhile"}}, integrity=chat["integrity"])
    late = {"integrity": chat["integrity"], "on_conflict": "rebase"}
    assert patch(alice, chat, {"index": 0, "set": {"mes": "mine"}}, **late).status_code == 200
    reply = patch(alice, chat, {"index": 2, "set": {"mes": "mine"}}, **late)
    assert reply.status_code == 409
    (conflict,) = reply.json()["conflicts"]
    assert conflict["theirs"]["mes"] == "Meanwhile"
    assert texts(alice, chat) == ["mine", STORED[1], "Meanwhile"]


def test_a_patch_in_effect_sent_again_is_skipped(alice: APIClient, chat: dict[str, Any]) -> None:
    change = {"index": 0, "set": {"mes": "new"}}
    first = patch(alice, chat, change, integrity=chat["integrity"]).json()
    again = patch(alice, chat, change, integrity=chat["integrity"])
    assert again.status_code == 200
    assert (again.json()["applied"], again.json()["skipped"]) == (0, 1)
    assert again.json()["integrity"] == first["integrity"]


def test_patches_of_one_message_apply_in_their_order(alice: APIClient, chat: dict[str, Any]) -> None:
    there_and_back = [{"index": 0, "set": {"mes": "new"}}, {"index": 0, "set": {"mes": STORED[0]}}]
    assert patch(alice, chat, *there_and_back, integrity=chat["integrity"]).json()["applied"] == 2
    assert texts(alice, chat) == STORED


def test_if_rev_makes_one_patch_conditional(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = patch(
        alice, chat, {"index": 0, "if_rev": 7, "set": {"mes": "x"}}, {"index": 1, "set": {"mes": "y"}},
        integrity=chat["integrity"],
    )  # fmt: skip
    assert reply.status_code == 409
    assert texts(alice, chat) == STORED


def test_id_and_index_must_agree(alice: APIClient, chat: dict[str, Any]) -> None:
    message = alice.get(f"/api/v1/chats/{chat['id']}/messages/").json()["results"][1]
    right = {"id": message["id"], "index": 1, "set": {"mes": "x"}}
    wrong = {"id": message["id"], "index": 2, "set": {"mes": "y"}}
    assert patch(alice, chat, wrong, integrity=chat["integrity"]).status_code == 409
    assert patch(alice, chat, right, integrity=chat["integrity"]).status_code == 200


def test_force_writes_over_a_stale_state_after_a_snapshot(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, "Meanwhile", integrity=chat["integrity"])
    assert patch(alice, chat, {"index": 0, "set": {"mes": "x"}}, force=True).status_code == 200
    assert [(row["id"], row["rev"]) for row in latest_rows(alice.user, "chats.Chat")] == [(chat["id"], chat["rev"] + 1)]
    changes = alice.get(f"/api/v1/chats/{chat['id']}/changes/", {"since": chat["rev"]}).json()["changes"]
    assert [change["kind"] for change in changes] == ["append", "patch"]


def test_the_change_feed_by_rev_and_by_integrity(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, "One", integrity=chat["integrity"])
    url = f"/api/v1/chats/{chat['id']}/changes/"
    for since in (chat["rev"], chat["integrity"]):
        feed = alice.get(url, {"since": since}).json()
        assert [change["rev"] for change in feed["changes"]] == [chat["rev"] + 1]
        assert feed["changes"][-1]["integrity"] == feed["integrity"]
    assert alice.get(url, {"since": str(uuid.uuid4())}).status_code == 410
    for since in ("", "soon", "99", "-1"):
        assert alice.get(url, {"since": since}).status_code == 400


@pytest.mark.parametrize(
    ("messages", "pointer"),
    [
        ([], "/messages"),
        ([{}], "/messages/0/mes"),
        ([{"mes": 5}], "/messages/0/mes"),
        ([{"mes": "ok"}, {"mes": "x", "is_user": "yes"}], "/messages/1/is_user"),
        ([{"mes": "a\x00"}], "/messages/0/mes"),
        ([{"mes": "x", "extra": []}], "/messages/0/extra"),
        ([{"mes": "x", "swipe_id": 3}], "/messages/0/swipe_id"),
        ([{"mes": "x", "send_date": "soon"}], "/messages/0/send_date"),
        ([{"mes": "x", "name": "n" * 201}], "/messages/0/name"),
        ("text", "/messages"),
        (["text"], "/messages/0"),
    ],
)
def test_a_bad_append_names_the_place_and_stores_nothing(
    alice: APIClient, chat: dict[str, Any], messages: Any, pointer: str
) -> None:
    reply = alice.post(f"/api/v1/chats/{chat['id']}/append/", {"messages": messages})
    assert reply.status_code == 400, reply.content
    assert pointer in [error["pointer"] for error in reply.json()["errors"]]
    assert texts(alice, chat) == STORED


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"index": 3, "set": {"mes": "x"}}, "/patches/0/index"),
        ({"index": -1, "set": {"mes": "x"}}, "/patches/0/index"),
        ({"index": 2**70, "set": {"mes": "x"}}, "/patches/0/index"),
        ({"id": str(uuid.uuid4()), "set": {"mes": "x"}}, "/patches/0/id"),
        ({"id": "first", "set": {"mes": "x"}}, "/patches/0/id"),
        ({"set": {"mes": "x"}}, "/patches/0/id"),
        ({"index": 0}, "/patches/0/set"),
        ({"index": 0, "set": {}}, "/patches/0/set"),
        ({"index": 0, "set": {"mes": None}}, "/patches/0/set/mes"),
        ({"index": 0, "set": {"colour": "red"}}, "/patches/0/set/colour"),
    ],
)
def test_a_bad_patch_names_the_place_and_changes_nothing(
    alice: APIClient, chat: dict[str, Any], change: dict[str, Any], pointer: str
) -> None:
    good = {"index": 1, "set": {"mes": "good"}}
    reply = patch(alice, chat, change, good, integrity=chat["integrity"])
    assert reply.status_code == 400, reply.content
    assert pointer in [error["pointer"] for error in reply.json()["errors"]]
    assert texts(alice, chat) == STORED


def test_a_log_that_is_trimmed_during_a_write_is_a_conflict_without_changes(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    for text in ("a", "b", "c"):
        append(alice, chat, text)
    with system_scope():
        ChatChange.objects.filter(chat=chat["id"], rev=chat["rev"] + 1).delete()
    reply = patch(alice, chat, {"index": 0, "set": {"mes": "x"}}, integrity=chat["integrity"])
    assert (reply.status_code, reply.json()["type"]) == (409, "/problems/integrity-conflict")
    assert "changes" not in reply.json()


def test_a_key_gives_the_same_reply_again(alice: APIClient, chat: dict[str, Any]) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "k1"}
    url = f"/api/v1/chats/{chat['id']}/append/"
    body = {"message": {"mes": "once"}}
    first, again = alice.post(url, body, **key), alice.post(url, body, **key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"
    assert texts(alice, chat) == [*STORED, "once"]
    reused = alice.post(url, {"message": {"mes": "other"}}, **key)
    assert reused.status_code == 422
    assert reused.json()["type"] == "/problems/idempotency-key-reused"


def test_a_key_is_its_owners(alice: APIClient, charlie: APIClient, chat: dict[str, Any]) -> None:
    theirs = charlie.post("/api/v1/chats/", {"title": "Mine"}).json()
    for client, target in ((alice, chat), (charlie, theirs)):
        url = f"/api/v1/chats/{target['id']}/append/"
        reply = client.post(url, {"message": {"mes": "x"}}, HTTP_IDEMPOTENCY_KEY="same")
        assert "Idempotent-Replayed" not in reply


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_time_lose_nothing() -> None:
    """Eight writers with connections of their own, each rebasing: every append is there exactly once."""
    user = User.objects.create_user("alice@example.com")
    alice = client_of(user)
    chat = alice.post("/api/v1/chats/", {"title": "Busy"}).json()
    statuses: list[int] = []

    def write(name: int) -> None:
        client = client_of(user)
        known = chat["integrity"]
        for n in range(5):
            reply = append(client, chat, f"{name}-{n}", integrity=known)
            while reply.status_code == 409:
                known = reply.json()["current_integrity"]
                reply = append(client, chat, f"{name}-{n}", integrity=known)
            statuses.append(reply.status_code)
            known = reply.json()["integrity"]
        connection.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [201] * 40
    assert sorted(texts(alice, chat)) == sorted(f"{name}-{n}" for name in range(8) for n in range(5))
    final = alice.get(f"/api/v1/chats/{chat['id']}/").json()
    assert (final["rev"], final["message_count"]) == (41, 40)


@pytest.mark.parametrize("how", [{"on_conflict": "rebase"}, {"force": True}])
@pytest.mark.parametrize(
    "change",
    [
        {"insert_before": {"mes": "Wait."}},
        {"splice": {"at": 0, "delete": 0, "insert": "Wait."}},
        {"add_swipe": {"mes": "Wait."}},
    ],
)
def test_a_write_onto_a_newer_state_is_recognised_when_it_is_sent_again(
    alice: APIClient, chat: dict[str, Any], change: dict[str, Any], how: dict[str, Any]
) -> None:
    append(alice, chat, "Meanwhile")
    for expected in (0, 1):
        reply = patch(alice, chat, {"index": 1, **change}, integrity=chat["integrity"], **how)
        assert (reply.status_code, reply.json()["skipped"]) == (200, expected)
        append(alice, chat, "And again")
    window = alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"limit": 200}).json()
    assert str([message["swipes"] for message in window["results"]]).count("Wait.") == 1


def test_an_append_onto_a_newer_state_is_recognised_when_it_is_sent_again(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    append(alice, chat, "Meanwhile")
    replies = [append(alice, chat, "One", integrity=chat["integrity"], on_conflict="rebase") for _ in range(2)]
    assert [reply.json()["deduplicated"] for reply in replies] == [0, 1]
    assert texts(alice, chat) == [*STORED, "Meanwhile", "One"]


def test_an_append_sent_again_after_the_log_was_trimmed_is_not_stored_twice(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    envelope = {"integrity": chat["integrity"], "on_conflict": "rebase"}
    assert append(alice, chat, "One", **envelope).status_code == 201
    ChatChange.objects.for_owner(alice.user).filter(rev__lt=F("chat__rev")).delete()
    again = append(alice, chat, "One", **envelope)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/integrity-conflict")
    assert texts(alice, chat) == [*STORED, "One"]


def test_what_two_write_alike_on_the_same_state_is_kept_twice(alice: APIClient, chat: dict[str, Any]) -> None:
    for client in (alice, client_of(alice.user)):
        append(client, chat, "Yes.", integrity=chat["integrity"], on_conflict="rebase")
    assert texts(alice, chat) == [*STORED, "Yes.", "Yes."]
