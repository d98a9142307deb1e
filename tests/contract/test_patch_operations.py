"""What a patch can do beside setting fields: data, swipes, splices, places; and undo, branches, group chats."""

from typing import Any

import pytest
from rest_framework.test import APIClient

MINE = {"name": "Mira", "mes": "A new reply.", "extra": {"model": "n"}}


def url(chat: dict[str, Any], rest: str) -> str:
    return f"/api/v1/chats/{chat['id']}/{rest}/"


def now(client: APIClient, chat: dict[str, Any]) -> dict[str, Any]:
    return client.get(f"/api/v1/chats/{chat['id']}/").json()


def messages(client: APIClient, chat: dict[str, Any]) -> list[dict[str, Any]]:
    return client.get(url(chat, "messages")).json()["results"]


def texts(client: APIClient, chat: dict[str, Any]) -> list[str]:
    found = messages(client, chat)
    assert [message["index"] for message in found] == list(range(len(found)))
    assert now(client, chat)["message_count"] == len(found)
    return [message["mes"] for message in found]


def patch(client: APIClient, chat: dict[str, Any], *patches: dict[str, Any], **envelope: Any) -> Any:
    body = {"integrity": now(client, chat)["integrity"]} | envelope
    return client.post(url(chat, "patch"), body | {"patches": list(patches)})


@pytest.fixture
def three(alice: APIClient, chat: dict[str, Any]) -> list[dict[str, Any]]:
    return messages(alice, chat)


# Data and swipes


def test_extra_is_merged_deeply_into_the_active_swipe(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "extra": {"a": {"b": 1, "c": 2}}})
    patch(alice, chat, {"index": 1, "extra": {"a": {"b": None, "d": [3]}, "model": None}})
    message = messages(alice, chat)[1]
    assert message["extra"] == {"a": {"c": 2, "d": [3]}}
    assert message["swipe_info"][0]["extra"] == message["extra"]


def test_a_new_swipe_is_made_active_and_each_keeps_its_own(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "Under the red one.", "extra": {"model": "n"}}})
    message = messages(alice, chat)[1]
    assert (message["swipe_id"], message["mes"], message["extra"]) == (1, "Under the red one.", {"model": "n"})
    patch(alice, chat, {"index": 1, "swipe_id": 0})
    message = messages(alice, chat)[1]
    assert (message["mes"], message["extra"]) == ("Under the blue stone.", {"model": "m"})
    assert message["swipes"] == ["Under the blue stone.", "Under the red one."]


def test_text_and_data_of_a_patch_are_those_of_the_swipe_that_it_makes_active(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b"}, "set": {"mes": "B"}, "extra": {"x": 1}})
    patch(alice, chat, {"index": 1, "swipe_id": 0, "set": {"mes": "A"}})
    message = messages(alice, chat)[1]
    assert message["swipes"] == ["A", "B"]
    assert [info["extra"] for info in message["swipe_info"]] == [{"model": "m"}, {"x": 1}]


def test_swipes_are_deleted_and_reordered(alice: APIClient, chat: dict[str, Any]) -> None:
    for mes in ("b", "c"):
        patch(alice, chat, {"index": 1, "add_swipe": {"mes": mes}})
    patch(alice, chat, {"index": 1, "swipe_order": [2, 0, 1]})
    message = messages(alice, chat)[1]
    assert message["swipes"] == ["c", "Under the blue stone.", "b"]
    assert (message["swipe_id"], message["mes"]) == (0, "c")
    patch(alice, chat, {"index": 1, "delete_swipe": 0})
    message = messages(alice, chat)[1]
    assert (message["swipes"], message["mes"]) == (["Under the blue stone.", "b"], "Under the blue stone.")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"swipe_id": 1}, "/patches/0/swipe_id"),
        ({"delete_swipe": 3}, "/patches/0/delete_swipe"),
        ({"delete_swipe": 0}, "/patches/0/delete_swipe"),
        ({"swipe_order": [0, 0]}, "/patches/0/swipe_order"),
        ({"swipe_order": []}, "/patches/0/swipe_order"),
        ({"splice": {"at": 30, "delete": 0, "insert": ""}}, "/patches/0/splice/at"),
        ({"splice": {"at": 10, "delete": 20, "insert": ""}}, "/patches/0/splice/delete"),
        ({"splice": {"at": -1}}, "/patches/0/splice/at"),
        ({"move_to": 3}, "/patches/0/move_to"),
        ({"insert_before": {"name": "x"}}, "/patches/0/insert_before/mes"),
        ({"delete": False}, "/patches/0/delete"),
        ({"delete": True, "set": {"mes": "x"}}, "/patches/0/delete"),
        ({"extra": {"auto_recap_memory": {"edited": "yes"}}}, "/patches/0/extra/auto_recap_memory/edited"),
        ({"set": {"participant": "01a1fd42-b877-74a6-b41a-63d0bf3ac232"}}, "/patches/0/set/participant"),
        ({}, "/patches/0/set"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_nothing_is_applied(
    alice: APIClient, chat: dict[str, Any], change: dict[str, Any], pointer: str
) -> None:
    before = texts(alice, chat)
    reply = patch(alice, chat, {"index": 1} | change, {"index": 0, "set": {"mes": "applied"}})
    assert reply.status_code == 400, reply.content
    assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]
    assert texts(alice, chat) == before


def test_a_namespace_past_its_limit_is_refused(alice: APIClient, chat: dict[str, Any], settings: Any) -> None:
    settings.MESSAGE_DATA_MAX_BYTES = 100
    reply = patch(alice, chat, {"index": 1, "extra": {"notes": {"a": "x" * 100}}})
    assert reply.status_code == 413
    assert reply.json()["errors"][0]["pointer"] == "/patches/0/extra/notes"


# Splices


def test_a_splice_counts_code_points(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 0, "set": {"mes": "a😀e\u0301z"}})
    reply = patch(alice, chat, {"index": 0, "splice": {"at": 2, "delete": 2, "insert": "ü"}})
    assert reply.json()["applied"] == 1
    assert texts(alice, chat)[0] == "a😀üz"


def test_the_retry_of_a_splice_is_not_applied_twice(alice: APIClient, chat: dict[str, Any]) -> None:
    twice = {"index": 0, "splice": {"at": 0, "delete": 0, "insert": "x"}}
    first = patch(alice, chat, twice, integrity=chat["integrity"]).json()
    again = patch(alice, chat, twice, integrity=chat["integrity"])
    assert again.status_code == 200
    assert (again.json()["applied"], again.json()["skipped"]) == (0, 1)
    assert again.json()["integrity"] == first["integrity"]
    assert texts(alice, chat)[0].startswith("xWhere")


@pytest.mark.parametrize(
    ("call", "content"),
    [
        ("append", {"messages": [{"mes": "ok"}]}),
        ("patch", {"patches": [{"index": 0, "add_swipe": {"mes": "ok"}}]}),
        ("patch", {"patches": [{"index": 0, "insert_before": {"mes": "ok"}}]}),
    ],
)
def test_the_same_write_with_another_key_is_another_write(
    alice: APIClient, chat: dict[str, Any], call: str, content: dict[str, Any]
) -> None:
    body = content | {"integrity": chat["integrity"]}
    first = alice.post(url(chat, call), body, headers={"Idempotency-Key": "hers"})
    assert first.status_code in (200, 201)
    assert alice.post(url(chat, call), body, headers={"Idempotency-Key": "his"}).status_code == 409
    assert alice.post(url(chat, call), body, headers={"Idempotency-Key": "hers"}).json() == first.json()


# Places


def test_a_message_is_deleted_and_the_others_close_up(alice: APIClient, chat: dict[str, Any]) -> None:
    assert patch(alice, chat, {"index": 1, "delete": True}).json()["applied"] == 1
    assert texts(alice, chat) == ["Where is the key?", "Then let us go."]


def test_a_message_is_inserted_before_another(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = patch(alice, chat, {"index": 2, "insert_before": MINE}).json()
    assert [place["index"] for place in reply["messages"]] == [2]
    assert texts(alice, chat) == ["Where is the key?", "Under the blue stone.", "A new reply.", "Then let us go."]


@pytest.mark.parametrize(("index", "target"), [(0, 2), (2, 0), (1, 2), (1, 0)])
def test_a_message_is_moved_to_an_index(alice: APIClient, chat: dict[str, Any], index: int, target: int) -> None:
    expected = texts(alice, chat)
    expected.insert(target, expected.pop(index))
    patch(alice, chat, {"index": index, "move_to": target})
    assert texts(alice, chat) == expected


def test_indexes_are_those_before_the_batch(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 0, "delete": True}, {"index": 2, "set": {"mes": "c"}}, {"index": 1, "delete": True})
    assert texts(alice, chat) == ["c"]


def test_a_message_deleted_twice_in_a_batch_is_an_error(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    reply = patch(alice, chat, {"index": 0, "delete": True}, {"id": three[0]["id"], "set": {"mes": "x"}})
    assert reply.json()["errors"][0]["pointer"] == "/patches/1/id"
    assert len(texts(alice, chat)) == 3


def test_the_retry_of_a_deletion_is_skipped(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    patch(alice, chat, {"id": three[1]["id"], "delete": True})
    again = patch(alice, chat, {"id": three[1]["id"], "delete": True}, integrity=chat["integrity"])
    assert (again.status_code, again.json()["skipped"]) == (200, 1)


# What others do meanwhile


def test_a_rebase_by_index_is_refused_where_indexes_have_shifted(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 0, "delete": True})
    reply = patch(
        alice, chat, {"index": 1, "set": {"mes": "x"}}, integrity=chat["integrity"], on_conflict="rebase"
    )  # fmt: skip
    assert reply.status_code == 409
    assert reply.json()["changes"][0]["deleted"]
    assert "x" not in texts(alice, chat)


def test_a_rebase_by_id_goes_through_where_only_places_changed(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    patch(alice, chat, {"index": 0, "delete": True})
    edit = {"id": three[2]["id"], "set": {"mes": "x"}}
    assert patch(alice, chat, edit, integrity=chat["integrity"], on_conflict="rebase").status_code == 200
    assert texts(alice, chat)[1] == "x"


def test_an_edit_of_a_message_that_was_deleted_is_a_conflict(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    patch(alice, chat, {"id": three[1]["id"], "delete": True})
    edit = {"id": three[1]["id"], "set": {"mes": "x"}}
    reply = patch(alice, chat, edit, integrity=chat["integrity"], on_conflict="rebase")
    assert reply.status_code == 409
    assert reply.json()["conflicts"] == [{"id": three[1]["id"], "theirs": None}]


def test_a_splice_into_a_text_that_has_become_shorter_is_a_conflict(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    """With ``if_rev`` the text is another one than the splice was made for, so that the request isn't invalid."""
    patch(alice, chat, {"index": 1, "set": {"mes": "x"}})
    splice = {"index": 1, "if_rev": three[1]["rev"], "splice": {"at": 5, "delete": 0, "insert": "!"}}
    reply = patch(alice, chat, splice)
    assert (reply.status_code, texts(alice, chat)[1]) == (409, "x")


def test_a_conflict_shows_the_message_as_it_is_stored(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    patch(alice, chat, {"index": 1, "set": {"mes": "theirs"}})
    edit = {"index": 1, "set": {"mes": "mine"}}
    reply = patch(alice, chat, edit, integrity=chat["integrity"], on_conflict="rebase")
    assert reply.json()["conflicts"][0]["theirs"]["mes"] == "theirs"


@pytest.mark.parametrize("to", [2, 1])
def test_a_move_under_rebase_is_a_conflict_if_the_order_has_changed(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]], to: int
) -> None:
    alice.post(url(chat, "append"), {"messages": [{"mes": "And so they went."}]})
    known = now(alice, chat)["integrity"]
    patch(alice, chat, {"id": three[0]["id"], "delete": True})
    before = texts(alice, chat)
    move = {"id": three[2]["id"], "move_to": to}  # after the deletion it stands at 1 already
    reply = patch(alice, chat, move, integrity=known, on_conflict="rebase")
    assert (reply.status_code, bool(reply.json()["conflicts"])) == (409, True)
    assert texts(alice, chat) == before


def test_a_move_that_arrived_is_recognised_after_other_writes(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    known = now(alice, chat)["integrity"]
    alice.post(url(chat, "append"), {"messages": [{"mes": "And so they went."}]})
    move = {"id": three[0]["id"], "move_to": 2}
    for skipped in (0, 1):
        reply = patch(alice, chat, move, integrity=known, on_conflict="rebase").json()
        assert reply["skipped"] == skipped
    assert texts(alice, chat)[2] == "Where is the key?"


# Undo


def undo(client: APIClient, chat: dict[str, Any], **envelope: Any) -> Any:
    return client.post(url(chat, "undo"), {"integrity": now(client, chat)["integrity"]} | envelope)


@pytest.mark.parametrize(
    "patches",
    [
        [{"index": 1, "set": {"mes": "x", "is_system": True, "send_date": "2024-01-01T00:00:00Z"}}],
        [{"index": 1, "add_swipe": {"mes": "x"}}],
        [{"index": 1, "extra": {"model": None, "a": {"b": 1}}}],
        [{"index": 0, "delete": True}, {"index": 2, "delete": True}],
        [{"index": 2, "delete": True}, {"index": 0, "delete": True}],
        [{"index": 1, "delete": True}, {"index": 0, "delete": True}],
        [{"index": 0, "insert_before": MINE}, {"index": 2, "insert_before": MINE}],
        [{"index": 0, "move_to": 2}],
        [{"index": 2, "move_to": 0}, {"index": 0, "set": {"mes": "x"}}, {"index": 1, "delete": True}],
    ],
)
def test_undo_brings_back_what_was(alice: APIClient, chat: dict[str, Any], patches: list[dict[str, Any]]) -> None:
    export = alice.get(url(chat, "export") + "?format=jsonl").getvalue()
    assert patch(alice, chat, *patches).status_code == 200
    changed = now(alice, chat)
    reply = undo(alice, chat).json()
    assert (reply["undone"], reply["kind"], reply["rev"]) == (changed["rev"], "patch", changed["rev"] + 1)
    assert alice.get(url(chat, "export") + "?format=jsonl").getvalue() == export
    assert len(texts(alice, chat)) == 3


def test_undo_again_goes_further_back_until_there_is_nothing(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "set": {"mes": "x"}})
    assert undo(alice, chat).json()["kind"] == "patch"
    assert undo(alice, chat).json()["kind"] == "append"
    assert texts(alice, chat) == []
    reply = undo(alice, chat)
    assert (reply.status_code, reply.json()["type"]) == (409, "/problems/nothing-to-undo")


def test_undo_needs_no_integrity_and_a_retry_with_it_undoes_once(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "set": {"mes": "y"}})
    assert alice.post(url(chat, "undo"), {}).status_code == 200
    patch(alice, chat, {"index": 1, "set": {"mes": "x"}})
    known = now(alice, chat)["integrity"]
    first = undo(alice, chat, integrity=known).json()
    assert undo(alice, chat, integrity=known).json() == first
    assert undo(alice, chat, integrity=chat["integrity"]).status_code == 409


def test_undone_messages_have_a_rev_of_their_own(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "set": {"mes": "x"}})
    undo(alice, chat)
    assert messages(alice, chat)[1]["rev"] == 3


def test_indexes_from_before_an_undo_are_not_taken_for_those_after_it(alice: APIClient, chat: dict[str, Any]) -> None:
    """The undo lists the message that it brings back, and not those whose index has changed."""
    patch(alice, chat, {"index": 0, "delete": True})
    shortened = now(alice, chat)["integrity"]
    undo(alice, chat)
    stored = texts(alice, chat)
    reply = patch(alice, chat, {"index": 1, "set": {"mes": "x"}}, integrity=shortened, on_conflict="rebase")
    assert (reply.status_code, texts(alice, chat)) == (409, stored)


# Branches


def test_a_branch_begins_as_its_parent_did(alice: APIClient, chat: dict[str, Any]) -> None:
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "x", "extra": {"k": 1}}})
    reply = alice.post(url(chat, "branch"), {"at": 1})
    assert reply.status_code == 201
    branch = reply.json()
    assert (branch["title"], branch["parent"], branch["parent_index"]) == ("The heist - Branch #1", chat["id"], 1)
    assert branch["integrity"] != now(alice, chat)["integrity"]
    mine, theirs = messages(alice, branch), messages(alice, chat)[:2]
    same = ("name", "is_user", "mes", "extra", "swipes", "swipe_info", "swipe_id", "send_date")
    assert [[message[key] for key in same] for message in mine] == [
        [message[key] for key in same] for message in theirs
    ]
    patch(alice, branch, {"index": 0, "set": {"mes": "elsewhere"}})
    assert texts(alice, chat)[0] == "Where is the key?"
    checkpoint = alice.post(url(chat, "branch"), {"at": 0, "checkpoint": True, "title": "Before"}).json()
    assert (checkpoint["title"], checkpoint["is_checkpoint"]) == ("Before", True)
    assert alice.post(url(chat, "branch"), {"at": 3}).json()["errors"][0]["pointer"] == "/at"


# Group chats


def join(client: APIClient, chat: dict[str, Any], **fields: Any) -> dict[str, Any]:
    reply = client.post(url(chat, "participants"), fields)
    assert reply.status_code == 201, reply.content
    return reply.json()


def test_who_takes_part_speaks_under_a_name(alice: APIClient, chat: dict[str, Any]) -> None:
    mira = join(alice, chat, name="Mira")
    character = alice.post("/api/v1/characters/", {"name": "Tam"}).json()
    tam = join(alice, chat, character=character["id"])
    assert (tam["name"], tam["position"]) == ("Tam", 1)
    assert now(alice, chat)["is_group"] is True
    said = [
        {"mes": "Wait.", "participant": tam["id"]},
        {"mes": "No.", "name": "Mira"},
        {"mes": "Go!", "name": "A passer-by"},
    ]
    alice.post(url(chat, "append"), {"messages": said})
    assert [message["participant"] for message in messages(alice, chat)] == [
        *(None, mira["id"], None),
        *(tam["id"], mira["id"], None),
    ]
    assert messages(alice, chat)[3]["name"] == "Tam"


def test_a_name_is_taken_once_and_who_leaves_is_still_heard(alice: APIClient, chat: dict[str, Any]) -> None:
    mira, tam = join(alice, chat, name="Mira"), join(alice, chat, name="Tam")
    assert alice.post(url(chat, "participants"), {"name": "Tam"}).status_code == 409
    one = f"{url(chat, 'participants')}{tam['id']}/"
    assert alice.patch(one, {"position": 0, "muted": True}).json()["position"] == 0
    names = [one["name"] for one in alice.get(url(chat, "participants")).json()["results"]]
    assert names == ["Tam", "Mira"]
    assert alice.delete(f"{url(chat, 'participants')}{mira['id']}/").status_code == 204
    assert messages(alice, chat)[1]["name"] == "Mira"
    assert messages(alice, chat)[1]["participant"] is None
    alice.delete(one)
    assert now(alice, chat)["is_group"] is False


def test_the_log_names_the_messages_that_a_participant_comes_to_or_leaves(
    alice: APIClient, chat: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    mira = join(alice, chat, name="Mira")
    for expected in (mira["id"], None):
        known = now(alice, chat)["rev"] - 1
        [change] = alice.get(url(chat, "changes"), {"since": known}).json()["changes"]
        assert [(message["id"], message["participant"]) for message in change["messages"]] == [
            (message["id"], expected) for message in three if not message["is_user"]
        ]
        alice.delete(f"{url(chat, 'participants')}{mira['id']}/")


def test_rounds_begin_where_the_user_speaks(alice: APIClient, chat: dict[str, Any]) -> None:
    more = [{"mes": "a", "name": "Tam"}, {"mes": "b", "name": "Mira"}, {"mes": "c", "is_user": True}]
    alice.post(url(chat, "append"), {"messages": more})
    body = alice.get(url(chat, "rounds")).json()
    assert body["total"] == 3
    shape = [
        ([said["index"] for said in one["user"]], [said["name"] for said in one["turns"]]) for one in body["results"]
    ]
    assert shape == [([0], ["Mira"]), ([2], ["Tam", "Mira"]), ([5], [])]
    assert [one["round"] for one in alice.get(url(chat, "rounds") + "?from=1&limit=1").json()["results"]] == [1]
