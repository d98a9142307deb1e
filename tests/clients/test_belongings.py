"""Recalls, scenes and snapshots through both clients, and what is absent."""

import io
import uuid
import zipfile
from typing import Any

import pytest
from loci_client import Invalid, NotFound

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.prompts.operations import ensure_recall
from apps.snapshots.models import Snapshot
from apps.snapshots.tasks import run_snapshot_job
from tests.clients.conftest import plain_call
from tests.factories import parsed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(client: Any, alice: User) -> Chat:
    made = client.create_chat("The heist", user_name="Alice")
    append_messages(alice, made["id"], [parsed("Where is the key?", is_user=True), parsed("Under the blue stone.")])
    return Chat.objects.for_owner(alice).get()


def ids(chat: Chat) -> list[str]:
    return [str(pk) for pk in chat.messages.order_by("index").values_list("pk", flat=True)]


@plain_call
def test_recalls_are_read_edited_made_again_and_deleted(client: Any, alice: User, chat: Chat) -> None:
    turn, reply = ids(chat)
    assert client.get_recall(str(chat.pk), reply) is None
    recall = ensure_recall(alice, chat.pk, uuid.UUID(turn))
    assert client.edit_recall(str(chat.pk), turn, "She has it.")["edited"] is True
    assert client.get_recall(str(chat.pk), turn)["text"] == "She has it."
    assert [found["id"] for found in client.get_recalls(str(chat.pk))] == [str(recall.pk)]
    assert client.rerun_recall(str(chat.pk), turn)["edited"] is False
    for _ in range(2):
        assert client.delete_recall(str(chat.pk), turn) is None
    assert client.get_recalls(str(chat.pk)) == []
    with pytest.raises(Invalid):
        client.rerun_recall(str(chat.pk), reply)


@plain_call
def test_scenes_are_ended_changed_and_removed(client: Any, chat: Chat) -> None:
    scene = client.end_scene(str(chat.pk), ids(chat)[1], {"name": "The stone"})
    assert (scene["end"], scene["name"], scene["outdated"]) == (1, "The stone", None)
    changed = client.change_scene(str(chat.pk), scene["id"], {"recap": "A key was hidden."})
    assert (changed["recap"], changed["outdated"]) == ("A key was hidden.", False)
    assert [found["id"] for found in client.get_scenes(str(chat.pk))] == [scene["id"]]
    removed = [client.remove_scene(str(chat.pk), scene["id"])["rev"] for _ in range(2)]
    assert removed[0] == removed[1]
    assert client.get_scenes(str(chat.pk)) == []


def test_snapshots_are_taken_read_downloaded_and_deleted(client: Any, alice: User, chat: Chat) -> None:
    taken = client.take_snapshot(chat=str(chat.pk))
    if Snapshot.objects.for_owner(alice).get(pk=taken["id"]).state != "succeeded":
        run_snapshot_job(job_id=taken["id"])
    assert client.get_snapshot(taken["id"])["state"] == "succeeded"
    assert [found["id"] for found in client.get_snapshots(chat=str(chat.pk))] == [taken["id"]]
    assert client.get_snapshots(chat=str(uuid.uuid4())) == []
    assert zipfile.ZipFile(io.BytesIO(b"".join(client.download_snapshot(taken["id"])))).namelist()
    for _ in range(2):
        assert client.delete_snapshot(taken["id"]) is None
    with pytest.raises(NotFound):
        client.get_snapshot(taken["id"])


@plain_call
def test_data_of_other_swipes_is_written_and_what_is_absent_is_told_apart_from_null(client: Any, chat: Chat) -> None:
    name, message = str(chat.pk), ids(chat)[1]
    patches = [{"id": message, "add_swipe": {"mes": "Under the red one."}}]
    client.patch(name, patches, integrity=client.get_chat(name)["integrity"])
    client.put_value(name, message, "notes", "a", None, swipe="previous")
    assert client.get_data(name, message, "notes") == {}
    assert client.get_data(name, message, "notes", swipe=0) == {"a": None}
    assert client.get_data(name, message, "notes", swipe=5) == {}
    assert client.get_value(name, message, "notes", "a", swipe=0, default=1) is None
    assert client.get_value(name, message, "notes", "b", default=1) == 1
    with pytest.raises(NotFound):
        client.get_value(name, message, "notes", "b")
    client.delete_value(name, message, "notes", "a", swipe=0)
    assert client.get_data(name, message, "notes", swipe=0) == {}
