"""What a person corrects takes effect: who was present, memories behind a profile and the canon, breaks of scenes."""

from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.message_data.namespaces import DataChange
from apps.chats.models import Chat, Message
from apps.chats.operations.patches import Patch
from apps.chats.scenes import scene_break_change
from apps.extraction import progress
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Memory, Scene, VersionedText
from apps.memories.operations import delete_memory, edit_memory
from apps.memories.operations.texts import edit_text
from apps.memories.queries.scenes import finished_scenes
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import MEMORIES_ALONE
from tests.extraction.engine.story import append, delete, edit, patch, read, settle, tell
from tests.extraction.engine.test_group import NAMES, group, known_to, secret_of
from tests.factories import make_chat
from tests.llm.scripted_server import ScriptedServer


def test_a_correction_of_who_was_present_takes_effect(owner: User) -> None:
    chat = group(owner, members=5)
    change_settings(owner, MEMORIES_ALONE)
    append(chat, "Good.", "Yes.", is_user=True)
    settle(chat)
    secret = secret_of(2, 0)  # told by Member2 to Member3
    assert [name for name in NAMES if secret in known_to(owner, name)] == NAMES[2:4]
    patch(chat, Patch(index=3, data=DataChange("loci", {"witnesses": [NAMES[2], NAMES[0]]})))
    settle(chat)
    assert [name for name in NAMES if secret in known_to(owner, name)] == [NAMES[0], NAMES[2]]


def test_the_fingerprint_in_sql_is_that_in_python(owner: User) -> None:
    chat = make_chat(owner, *(f"Turn {number}." for number in range(6)))
    for index, named in enumerate(([], ["Mira"], ["Mïra", 5, "Tom|"], "Mira", None)):
        patch(chat, Patch(index=index, data=DataChange("loci", {"witnesses": named})))
    messages = Message.objects.for_owner(owner).filter(chat=chat).with_swipes()
    progress.record_read(chat, messages, ["session"])
    assert progress.changed_message_ids(chat) == []
    patch(chat, Patch(index=5, data=DataChange("loci", {"witnesses": []})))
    assert len(progress.changed_message_ids(chat)) == 1


def current(chat: Chat, kind: str) -> VersionedText:
    return VersionedText.objects.for_owner(chat.owner_id).get(kind=kind, state="current")


def test_profiles_and_canon_are_renewed_when_what_they_came_from_changes(owner: User) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Marrow.", "FACT(2): Mira owns a ferry.", "Good.")
    read(chat, tiers=["long_term"])
    for tier in ("profiles", "canon"):
        read(chat, tiers=[tier])
    both = {"tiers": ["profiles", "canon"]}
    before = [current(chat, kind).pk for kind in ("profile", "canon")]
    read(chat, **both)
    assert [current(chat, kind).pk for kind in ("profile", "canon")] == before
    marrow, ferry = Memory.objects.for_owner(owner).order_by("pk")
    for change in (
        lambda: edit_memory(marrow, editor="alice", text="Mira lives in Oslo."),
        lambda: delete_memory(ferry),
        lambda: Memory.objects.for_owner(owner).filter(pk=marrow.pk).update(state="retired", updated_at=timezone.now()),
    ):
        change()
        append(chat, "FACT(2): Mira sings.", "Good.", is_user=True)
        read(chat, tiers=["long_term"])
        read(chat, **both)
        after = [current(chat, kind).pk for kind in ("profile", "canon")]
        assert all(old != new for old, new in zip(before, after, strict=True))
        before = after
    for kind in ("profile", "canon"):
        parts = {"character_state": "Mine."} if kind == "profile" else {"text": "Mine."}
        edit_text(chat, kind, editor="alice", character=chat.character, **parts)
    delete_memory(Memory.objects.for_owner(owner).get(text="Mira sings."))
    read(chat, **both)
    assert [current(chat, kind).edited_by for kind in ("profile", "canon")] == ["alice", "alice"]


def test_a_scene_ended_by_hand_gets_a_recap_at_the_next_pass(owner: User) -> None:
    chat = tell(owner, "They met.", "They talked.", "They parted.", "Good.", "Yes.")
    read(chat, tiers=["scenes"])
    patch(chat, Patch(index=1, data=scene_break_change()))
    append(chat, "And then?", "Good.", is_user=True)
    read(chat, tiers=["scenes"])
    [scene] = finished_scenes(chat)
    assert (scene.set_by_hand, scene.recap) == (True, "They talked from turn 0 to turn 1, and then they left.")
    edit(chat, 0, "They fought.")
    settle(chat)
    [scene] = finished_scenes(chat)
    assert scene.recap
    patch(chat, Patch(index=1, data=DataChange("auto_recap_memory", {"scene_break": False})))
    assert finished_scenes(chat) == []


def test_a_recap_tells_nothing_of_a_deleted_message(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "They met.", "They fought bitterly.", "They made up.", "Three days later, they left.", "Good.")
    append(chat, "And then?", "Good.", is_user=True)
    read(chat, tiers=["scenes"])
    [scene] = finished_scenes(chat)
    assert (scene.end, scene.detected is not None, bool(scene.recap)) == (2, True, True)
    asked = len(server.requests)
    delete(chat, 1)
    settle(chat)
    [scene] = finished_scenes(chat)
    assert (scene.end, scene.recap) == (1, "")
    append(chat, "Well.", "Yes.", is_user=True)
    read(chat, tiers=["scenes"])
    assert finished_scenes(chat)[0].recap
    [recap] = [one for one in server.requests[asked:] if storyteller.task_of(one) == "scene_recap"]
    assert "fought" not in recap.prompt


def test_a_scene_ends_no_more_where_the_message_that_began_the_next_one_is_deleted(owner: User) -> None:
    chat = tell(owner, "They met.", "They talked.", "They sang.", "Three days later, they left.", "Good.")
    append(chat, "And then?", "Good.", is_user=True)
    read(chat, tiers=["scenes"])
    assert [scene.end for scene in finished_scenes(chat)] == [2]
    delete(chat, 3)
    settle(chat)
    assert finished_scenes(chat) == []


def test_scenes_that_a_run_found_are_listed_beside_those_set_by_hand(owner: User) -> None:
    chat = tell(owner, "They met.", "They talked.", "Three days later, they met again.", "Good.", "Yes.")
    Scene.objects.create(owner=owner, chat=chat, source=chat.messages.get(index=1), recap="They met.", name="The quay")
    patch(chat, Patch(index=3, data=scene_break_change(name="The inn")))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(owner, name='test')[1]}")
    listed = client.get(f"/api/v1/chats/{chat.pk}/scenes/").json()["results"]
    assert [(one["name"], one["start"], one["end"], one["detected"]) for one in listed] == [
        ("The quay", 0, 1, True),
        ("The inn", 2, 3, False),
    ]
    assert listed[0]["recap"] == "They met."


def test_scenes_that_a_run_found_are_changed_and_removed_by_the_api(owner: User) -> None:
    chat = tell(owner, "They met.", "They talked.", "Three days later, they met again.", "Good.", "Yes.")
    message = chat.messages.get(index=1)
    found = Scene.objects.create(owner=owner, chat=chat, source=message, recap="They met.", name="The quay")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(owner, name='test')[1]}")
    url = f"/api/v1/chats/{chat.pk}/scenes/"
    changed = client.patch(f"{url}{message.pk}/", {"collapsed": True}, format="json")
    assert changed.status_code == 200
    [scene] = client.get(url).json()["results"]
    assert (scene["name"], scene["collapsed"], scene["recap"], scene["detected"]) == (
        "The quay",
        True,
        "They met.",
        False,
    )
    assert client.patch(f"{url}{message.pk}/", {"recap": "They parted."}, format="json").status_code == 200
    assert client.delete(f"{url}{message.pk}/").status_code == 200
    assert client.get(url).json()["results"] == []
    found.refresh_from_db()
    assert found.state == "dismissed"
    assert client.delete(f"{url}{message.pk}/").status_code == 200  # again, which changes nothing

    other = Scene.objects.create(owner=owner, chat=chat, source=chat.messages.get(index=2))
    assert client.delete(f"{url}{other.source_id}/").status_code == 200
    assert client.get(url).json()["results"] == []
