"""Data of messages, kept for each swipe; recaps and scene breaks in it."""

import json
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from rest_framework.test import APIClient

from apps.chats.locking import Guard
from apps.chats.operations import Patch, patch_messages
from apps.chats.queries import access_chat
from apps.chats.scenes import scene_change, scenes_of
from apps.chats.signals import chat_changed
from apps.common.problems import Missing
from tests.contract.test_patch_operations import messages, now, patch, undo, url


@pytest.fixture
def data(alice: APIClient, chat: dict[str, Any]) -> str:
    """The URL of the data of the chat's second message."""
    return f"{url(chat, 'messages')}{messages(alice, chat)[1]['id']}/data"


def put_recap(client: APIClient, chat: dict[str, Any], data: str, **values: Any) -> Any:
    body = {"integrity": now(client, chat)["integrity"], "data": values}
    return client.patch(f"{data}/auto_recap_memory/", body)


def test_keys_are_set_and_null_is_a_value(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    assert alice.get(f"{data}/notes/").json() == {}
    reply = alice.patch(f"{data}/notes/", {"integrity": chat["integrity"], "data": {"a": [1], "b": None}})
    assert reply.status_code == 200
    assert reply.json()["data"] == {"a": [1], "b": None}
    assert reply.json()["integrity"] == now(alice, chat)["integrity"] != chat["integrity"]
    assert alice.get(f"{data}/notes/b/").json() == {"value": None}
    assert alice.get(f"{data}/notes/c/").status_code == 404
    assert messages(alice, chat)[1]["extra"] == {"model": "m", "notes": {"a": [1], "b": None}}


def test_one_key_is_put_and_deleted(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    assert alice.put(f"{data}/notes/a/", {"value": {"x": 1}}).json()["value"] == {"x": 1}
    assert alice.get(f"{data}/notes/a/").json() == {"value": {"x": 1}}
    assert alice.delete(f"{data}/notes/a/").status_code == 200
    assert alice.get(f"{data}/notes/a/").status_code == 404
    assert messages(alice, chat)[1]["extra"] == {"model": "m"}


def test_a_key_may_have_slashes(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    values = {"a/b": 1, "c/": None}
    alice.patch(f"{data}/notes/", {"integrity": chat["integrity"], "data": values})
    for key, value in values.items():
        path = f"{data}/notes/{quote(key, safe='')}/"
        assert alice.get(path).json() == {"value": value}
        assert alice.put(path, {"value": 2}).status_code == 200
        assert alice.delete(path).status_code == 200
    assert alice.get(f"{data}/notes/").json() == {}


def test_a_message_is_left_out_of_memory_by_a_boolean(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    refused = alice.put(f"{data}/loci/leave_out/", {"value": "yes"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/data/leave_out")
    assert alice.put(f"{data}/loci/leave_out/", {"value": True}).status_code == 200
    assert messages(alice, chat)[1]["extra"]["loci"] == {"leave_out": True}


def test_clear_deletes(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    alice.patch(f"{data}/notes/", {"integrity": chat["integrity"], "data": {"a": 1, "b": 2}})
    body = {"integrity": now(alice, chat)["integrity"], "data": {"c": 3}, "clear": ["a"]}
    assert alice.patch(f"{data}/notes/", body).json()["data"] == {"b": 2, "c": 3}


def test_a_write_of_many_keys_needs_the_integrity(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    assert alice.patch(f"{data}/notes/", {"data": {"a": 1}}).status_code == 428
    alice.put(f"{data}/notes/a/", {"value": 1})
    stale = {"integrity": chat["integrity"], "data": {"a": 2}}
    assert alice.patch(f"{data}/notes/", stale).status_code == 409
    assert alice.put(f"{data}/notes/a/", {"integrity": chat["integrity"], "value": 2}).status_code == 409


def test_each_swipe_keeps_its_own_and_none_reads_another_ones(
    alice: APIClient, chat: dict[str, Any], data: str
) -> None:
    put_recap(alice, chat, data, memory="of the first")
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b"}})
    assert alice.get(f"{data}/auto_recap_memory/").json() == {}
    put_recap(alice, chat, data, memory="of the second")
    assert alice.get(f"{data}/auto_recap_memory/memory/?swipe=previous").json() == {"value": "of the first"}
    patch(alice, chat, {"index": 1, "swipe_id": 0})
    assert alice.get(f"{data}/auto_recap_memory/memory/").json() == {"value": "of the first"}
    assert alice.get(f"{data}/auto_recap_memory/memory/?swipe=1").json() == {"value": "of the second"}
    assert alice.get(f"{data}/auto_recap_memory/?swipe=previous").status_code == 404
    assert alice.get(f"{data}/auto_recap_memory/?swipe=2").status_code == 404
    assert alice.get(f"{data}/auto_recap_memory/?swipe=x").status_code == 400


def test_writes_reach_the_swipe_that_they_name(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b"}})
    body = {"integrity": now(alice, chat)["integrity"], "data": {"a": 1}}
    assert alice.patch(f"{data}/notes/?swipe=0", body).json()["data"] == {"a": 1}
    assert alice.put(f"{data}/notes/b/?swipe=previous", {"value": None}).status_code == 200
    assert alice.put(data.removesuffix("data") + "recap/?swipe=0", {"text": "He left."}).json()["recap"]["edited"]
    assert (alice.get(f"{data}/notes/").json(), alice.get(f"{data}/notes/?swipe=0").json()) == ({}, {"a": 1, "b": None})
    message = messages(alice, chat)[1]
    assert (message["swipe_id"], message["extra"]) == (1, {})
    assert message["swipe_info"][0]["extra"]["auto_recap_memory"]["memory"] == "He left."
    undo(alice, chat)
    assert "auto_recap_memory" not in messages(alice, chat)[1]["swipe_info"][0]["extra"]
    assert alice.delete(f"{data}/notes/a/?swipe=0").status_code == 200
    assert alice.get(f"{data}/notes/?swipe=0").json() == {"b": None}
    before = now(alice, chat)["rev"]
    assert alice.delete(f"{data}/notes/a/?swipe=0").json()["rev"] == before  # it is gone already
    assert alice.put(f"{data}/notes/a/?swipe=2", {"value": 1}).status_code == 404
    assert alice.put(f"{data}/notes/a/?swipe=x", {"value": 1}).json()["errors"][0]["pointer"] == "/swipe"
    assert now(alice, chat)["rev"] == before


def test_an_export_has_what_was_written_to_another_swipe(alice: APIClient) -> None:
    line = b'{"name":"B","mes":"b","swipe_id":1,"swipes":["a","b"],"swipe_info":[{},{"extra":{}}],"extra":{}}'
    file = SimpleUploadedFile("a.jsonl", line)
    chat = alice.post("/api/v1/chats/import/", {"file": file}, format="multipart").json()["chats"][0]
    message = messages(alice, chat)[0]["id"]
    assert alice.put(f"{url(chat, 'messages')}{message}/data/notes/a/?swipe=0", {"value": 1}).status_code == 200
    exported = json.loads(alice.get(url(chat, "export") + "?format=jsonl").getvalue().splitlines()[-1])
    assert exported["swipe_info"] == [{"extra": {"notes": {"a": 1}}}, {"extra": {}}]


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("memory", 1, "She left."),
        ("include", False, None),
        ("exclude", "true", True),
        ("error", [], None),
        ("reasoning", {}, "because"),
        ("prefill", 0, "In this scene: "),
        ("edited", 1, False),
        ("scene_break", None, True),
        ("scene_break_visible", "no", False),
        ("scene_break_name", 2, None),
        ("scene_break_collapsed", 0, True),
        ("scene_recap_memory", [], None),
        ("scene_recap_versions", [1], [{"memory": "x"}]),
        ("scene_recap_current_index", -1, 0),
        ("scene_recap_current_index", True, 2),
        ("scene_recap_hash", None, "abc"),
        ("scene_recap_metadata", None, {"model": "m"}),
        ("scene_recap_include", None, False),
        ("auto_scene_break_checked", "", True),
        ("is_auto_recap_system_memory", 0, False),
    ],
)
def test_what_recaps_keep_has_a_type(
    alice: APIClient, chat: dict[str, Any], data: str, key: str, wrong: Any, right: Any
) -> None:
    reply = put_recap(alice, chat, data, **{key: wrong})
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == [f"/data/{key}"]
    assert put_recap(alice, chat, data, **{key: right}).json()["data"] == {key: right}
    assert alice.put(f"{data}/elsewhere/{key}/", {"value": wrong}).status_code == 200


def test_a_patch_sets_and_clears_data_of_the_swipe_that_it_makes_active(
    alice: APIClient, chat: dict[str, Any], data: str
) -> None:
    patch(alice, chat, {"index": 1, "data": {"namespace": "notes", "values": {"a": None, "b": 1}}})
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b"}})
    change = {"namespace": "notes", "values": {"c": {"x": None}}, "clear": ["b"]}
    reply = patch(alice, chat, {"index": 1, "swipe_id": 0, "data": change}, {"index": 1, "swipe_id": 1})
    assert reply.status_code == 200, reply.content
    assert alice.get(f"{data}/notes/").json() == {}
    assert alice.get(f"{data}/notes/?swipe=0").json() == {"a": None, "c": {"x": None}}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"namespace": "auto_recap_memory", "values": {"memory": 1}}, "/patches/0/data/values/memory"),
        ({"namespace": "notes", "values": {"": 1}}, "/patches/0/data/values"),
        ({"namespace": "", "values": {"a": 1}}, "/patches/0/data/namespace"),
        ({"values": {"a": 1}}, "/patches/0/data/namespace"),
        ({"namespace": "notes", "clear": "a"}, "/patches/0/data/clear"),
    ],
)
def test_bad_data_in_a_patch_names_its_place(
    alice: APIClient, chat: dict[str, Any], change: dict[str, Any], pointer: str
) -> None:
    reply = patch(alice, chat, {"index": 1, "data": change})
    assert (reply.status_code, [error["pointer"] for error in reply.json()["errors"]]) == (400, [pointer])


def test_a_namespace_has_a_limit(alice: APIClient, chat: dict[str, Any], data: str, settings: Any) -> None:
    settings.MESSAGE_DATA_MAX_BYTES = 50
    assert alice.put(f"{data}/notes/a/", {"value": "x" * 20}).status_code == 200
    reply = alice.put(f"{data}/notes/b/", {"value": "x" * 20})
    assert reply.status_code == 413
    assert "The namespace notes would hold" in reply.json()["detail"]
    assert alice.get(f"{data}/notes/").json() == {"a": "x" * 20}


# Recaps


def test_a_recap_is_read_with_its_prefill_edited_and_cleared(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    recap = data.removesuffix("data") + "recap/"
    put_recap(alice, chat, data, memory="Mira came.", prefill="In this scene: ", reasoning="hm", error="e")
    assert alice.get(recap).json()["text"] == "In this scene: Mira came."
    edited = alice.put(recap, {"text": "Mira went."}).json()["recap"]
    assert edited == {
        "text": "Mira went.",
        "memory": "Mira went.",
        "prefill": None,
        "include": None,
        "exclude": False,
        "edited": True,
        "error": None,
        "reasoning": None,
    }
    assert alice.delete(recap).json()["recap"]["text"] is None
    assert alice.get(f"{data}/auto_recap_memory/edited/").json() == {"value": False}


# Scenes


def scenes(client: APIClient, chat: dict[str, Any]) -> list[dict[str, Any]]:
    return client.get(url(chat, "scenes")).json()["results"]


def test_a_scene_is_ended_named_and_goes_on(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    made = alice.post(url(chat, "scenes"), {"integrity": chat["integrity"], "index": 1, "name": "The stone"})
    assert made.status_code == 201
    scene = made.json()["scene"]
    assert (scene["start"], scene["end"], scene["name"], scene["visible"]) == (0, 1, "The stone", True)
    one = f"{url(chat, 'scenes')}{scene['id']}/"
    changed = alice.patch(one, {"name": None, "collapsed": True, "visible": False, "include": False}).json()["scene"]
    assert (changed["name"], changed["collapsed"], changed["visible"], changed["include"]) == (None, True, False, False)
    assert alice.get(f"{data}/auto_recap_memory/scene_break/").json() == {"value": True}
    assert alice.delete(one).status_code == 200
    assert scenes(alice, chat) == []
    assert alice.patch(one, {"name": "x"}).status_code == 404


def test_recaps_of_a_scene_have_versions(alice: APIClient, chat: dict[str, Any]) -> None:
    scene = alice.post(url(chat, "scenes"), {"index": 1}).json()["scene"]
    one = f"{url(chat, 'scenes')}{scene['id']}/"
    first = alice.patch(one, {"recap": "A key was hidden."}).json()["scene"]
    second = alice.patch(one, {"recap": "Mira hid a key."}).json()["scene"]
    assert (first["recap"], first["current"], second["recap"], second["current"]) == (
        *("A key was hidden.", 0),
        *("Mira hid a key.", 1),
    )
    back = alice.patch(one, {"current": 0}).json()["scene"]
    assert (back["recap"], back["current"], len(back["versions"])) == ("A key was hidden.", 0, 2)
    assert back["hash"] == first["hash"]
    assert alice.patch(one, {"current": 2}).json()["errors"][0]["pointer"] == "/current"


def test_a_current_version_that_is_not_there_is_none(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    """Imported files and other programs write the index themselves."""
    alice.post(url(chat, "scenes"), {"index": 1})
    put_recap(alice, chat, data, scene_recap_versions=[{"memory": "x"}], scene_recap_current_index=1)
    assert scenes(alice, chat)[0]["current"] is None


def recap_patch(client: APIClient, chat: dict[str, Any], text: str) -> Patch:
    """A new recap of the first scene, prepared from the scene as it is now."""
    scene = scenes_of(access_chat(client.user, chat["id"]))[0]
    return Patch(id=scene.last.pk, data=scene_change(scene, recap=text))


def test_recaps_saved_at_once_are_both_kept(alice: APIClient, chat: dict[str, Any]) -> None:
    """Both were prepared before the other was written."""
    alice.post(url(chat, "scenes"), {"index": 1})
    for change in [recap_patch(alice, chat, "One."), recap_patch(alice, chat, "Two.")]:
        patch_messages(alice.user, chat["id"], [change], Guard(optional=True))
    (scene,) = scenes(alice, chat)
    assert ([version["memory"] for version in scene["versions"]], scene["current"]) == (["One.", "Two."], 1)


def test_a_recap_takes_no_versions_along_to_another_swipe(alice: APIClient, chat: dict[str, Any]) -> None:
    """The other swipe became active after the recap was prepared."""
    ending = {"auto_recap_memory": {"scene_break": True}}
    alice.post(url(chat, "scenes"), {"index": 1})
    patch_messages(alice.user, chat["id"], [recap_patch(alice, chat, "Of the first swipe.")], Guard(optional=True))
    prepared = recap_patch(alice, chat, "Written meanwhile.")
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "Under the bed.", "extra": ending}})
    patch_messages(alice.user, chat["id"], [prepared], Guard(optional=True))
    (second,) = scenes(alice, chat)
    assert [version["memory"] for version in second["versions"]] == ["Written meanwhile."]
    patch(alice, chat, {"index": 1, "swipe_id": 0})
    (first,) = scenes(alice, chat)
    assert [version["memory"] for version in first["versions"]] == ["Of the first swipe."]
    # A swipe that ends no scene takes no recap at all.
    ended = {"auto_recap_memory": {"scene_break": False}}
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "Nowhere.", "extra": ended}})
    with pytest.raises(Missing):
        patch_messages(alice.user, chat["id"], [prepared], Guard(optional=True))
    assert scenes(alice, chat) == []


def test_a_recap_sent_again_is_one_version(alice: APIClient, chat: dict[str, Any]) -> None:
    """Its reply was lost. It names the state that it was made on, and the text of the scene has changed since."""
    made = alice.post(url(chat, "scenes"), {"index": 1}).json()
    one, body = f"{url(chat, 'scenes')}{made['scene']['id']}/", {"integrity": made["integrity"], "recap": "Once."}
    assert alice.patch(one, body).status_code == 200
    patch(alice, chat, {"index": 0, "set": {"mes": "changed"}})
    again = alice.patch(one, body)
    assert (again.status_code, len(again.json()["scene"]["versions"])) == (200, 1)


def test_a_swipe_of_its_last_message_keeps_a_scene_whose_recap_is_outdated_then(
    alice: APIClient, chat: dict[str, Any], data: str
) -> None:
    scene = alice.post(url(chat, "scenes"), {"index": 1, "name": "The stone"}).json()["scene"]
    one = f"{url(chat, 'scenes')}{scene['id']}/"
    assert alice.patch(one, {"recap": "A key was hidden."}).json()["scene"]["outdated"] is False
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "Under the red stone."}})
    (swiped,) = scenes(alice, chat)
    assert (swiped["name"], swiped["recap"], swiped["outdated"]) == ("The stone", "A key was hidden.", True)
    assert "memory" not in alice.get(f"{data}/auto_recap_memory/").json()
    patch(alice, chat, {"index": 1, "swipe_id": 0})
    assert [scene["outdated"] for scene in scenes(alice, chat)] == [False]
    patch(alice, chat, {"index": 1, "delete_swipe": 0})
    assert [scene["name"] for scene in scenes(alice, chat)] == ["The stone"]


def test_a_scene_that_was_removed_comes_back_with_no_swipe_and_is_removed_twice(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    scene = alice.post(url(chat, "scenes"), {"index": 1}).json()["scene"]
    patch(alice, chat, {"index": 1, "add_swipe": {"mes": "Under the red stone."}})
    first = alice.delete(f"{url(chat, 'scenes')}{scene['id']}/")
    again = alice.delete(f"{url(chat, 'scenes')}{scene['id']}/")
    assert (first.status_code, again.status_code, again.json()["rev"]) == (200, 200, first.json()["rev"])
    patch(alice, chat, {"index": 1, "swipe_id": 0})
    assert scenes(alice, chat) == []


def test_an_edit_within_a_scene_outdates_its_recap(alice: APIClient, chat: dict[str, Any], data: str) -> None:
    scene = alice.post(url(chat, "scenes"), {"index": 1}).json()["scene"]
    assert scene["outdated"] is None
    one = f"{url(chat, 'scenes')}{scene['id']}/"
    alice.patch(one, {"recap": "A key was hidden."})
    patch(alice, chat, {"index": 0, "set": {"mes": "Where is the map?"}})
    assert [scene["outdated"] for scene in scenes(alice, chat)] == [True]
    assert alice.patch(one, {"recap": "A map was hidden."}).json()["scene"]["outdated"] is False
    put_recap(alice, chat, data, scene_recap_hash="of another program")
    assert [scene["outdated"] for scene in scenes(alice, chat)] == [None]


def test_the_hash_of_a_recap_tells_that_the_scene_has_changed(alice: APIClient, chat: dict[str, Any]) -> None:
    scene = alice.post(url(chat, "scenes"), {"index": 1}).json()["scene"]
    one = f"{url(chat, 'scenes')}{scene['id']}/"
    first = alice.patch(one, {"recap": "a"}).json()["scene"]["hash"]
    assert alice.patch(one, {"recap": "b"}).json()["scene"]["hash"] == first
    patch(alice, chat, {"index": 0, "set": {"mes": "changed"}})
    assert alice.patch(one, {"recap": "c"}).json()["scene"]["hash"] != first


def test_scenes_follow_the_active_swipe_and_undo(alice: APIClient, chat: dict[str, Any]) -> None:
    alice.post(url(chat, "scenes"), {"index": 0})
    alice.post(url(chat, "scenes"), {"index": 1})
    assert [(scene["start"], scene["end"]) for scene in scenes(alice, chat)] == [(0, 0), (1, 1)]
    goes_on = {"auto_recap_memory": {"scene_break": False}}
    patch(alice, chat, {"index": 0, "add_swipe": {"mes": "b", "extra": goes_on}})
    assert [(scene["start"], scene["end"]) for scene in scenes(alice, chat)] == [(0, 1)]
    undo(alice, chat)
    assert len(scenes(alice, chat)) == 2
    undo(alice, chat)
    assert len(scenes(alice, chat)) == 1


def test_scenes_come_in_with_a_file(alice: APIClient) -> None:
    lines = b"\n".join(
        [
            b'{"name":"A","is_user":true,"mes":"a"}',
            b'{"name":"B","mes":"b","extra":{"auto_recap_memory":{"scene_break":true,"scene_break_name":"One"}}}',
        ]
    )
    file = SimpleUploadedFile("a.jsonl", lines)
    chat = alice.post("/api/v1/chats/import/", {"file": file}, format="multipart").json()["chats"][0]
    assert [scene["name"] for scene in scenes(alice, chat)] == ["One"]


@pytest.mark.parametrize("body", [{}, {"index": 9}, {"index": 0, "message": "x"}, {"index": 0, "name": 3}])
def test_a_scene_that_can_not_be(alice: APIClient, chat: dict[str, Any], body: dict[str, Any]) -> None:
    assert alice.post(url(chat, "scenes"), body).status_code in (400, 404)
    assert scenes(alice, chat) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("patch", "messages/{id}/data/notes", {"force": True, "data": {"a": 1}}),
        ("put", "messages/{id}/data/notes/a", {"value": 1}),
        ("delete", "messages/{id}/data/notes/a", {}),
        ("put", "messages/{id}/recap", {"text": "They met."}),
        ("post", "scenes", {"index": 1, "name": "Arrival"}),
    ],
)
def test_a_stored_write_is_answered_though_its_message_is_deleted_right_after_the_commit(
    alice: APIClient, chat: dict[str, Any], method: str, path: str, body: dict[str, Any]
) -> None:
    message_id = messages(alice, chat)[1]["id"]
    before = alice.put(f"{url(chat, 'messages')}{message_id}/data/notes/a/", {"value": 0}).json()

    def delete_message() -> None:
        patch_messages(alice.user, chat["id"], [Patch(id=UUID(message_id), delete=True)], Guard(force=True))

    def delete_after_commit(**signal: Any) -> None:
        chat_changed.disconnect(delete_after_commit)
        transaction.on_commit(delete_message)

    chat_changed.connect(delete_after_commit)
    try:
        reply = getattr(alice, method)(url(chat, path.format(id=message_id)), body)
    finally:
        chat_changed.disconnect(delete_after_commit)
    assert 200 <= reply.status_code < 300, reply.content
    assert reply.json()["rev"] == before["rev"] + 1
    assert message_id not in [message["id"] for message in messages(alice, chat)]
