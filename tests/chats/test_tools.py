"""What one does with messages on the page: versions, places, scenes, branches, and undo."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, patch_messages
from apps.chats.scenes import scene_change, scenes_of
from tests.factories import UserFactory, make_character, make_chat

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is the key?", "Under the stone.", "Then let us go.", character=make_character(alice))


def url(chat: Chat, index: int, action: str) -> str:
    return f"/chats/{chat.pk}/messages/{chat.messages.get(index=index).pk}/{action}/"


def texts(chat: Chat) -> list[str]:
    return [message.mes for message in chat.messages.order_by("index")]


def do(site: Client, chat: Chat, index: int, action: str, **data: Any) -> Any:
    reply = site.post(url(chat, index, action), data)
    assert reply.status_code == 302, reply.content
    return site.get(reply.url)


def test_another_version_is_written_shown_and_deleted(site: Client, chat: Chat) -> None:
    assert "Under the stone." in site.get(url(chat, 1, "version")).content.decode()
    do(site, chat, 1, "version", text="In the well.")
    assert texts(chat)[1] == "In the well."
    turn = site.post(url(chat, 1, "swipe"), {"to": 0}, **HTMX).content.decode()
    assert "Under the stone." in turn
    assert "1/2" in turn
    do(site, chat, 1, "swipe", to=7)
    assert texts(chat)[1] == "In the well."
    do(site, chat, 1, "swipe", delete="on")
    assert texts(chat)[1] == "Under the stone."
    do(site, chat, 1, "swipe", delete="on")
    assert texts(chat)[1] == "Under the stone."


def test_a_message_is_hidden_and_shown_again(site: Client, chat: Chat) -> None:
    assert "Hidden from the prompt" in site.post(url(chat, 1, "hide"), **HTMX).content.decode()
    assert chat.messages.get(index=1).is_system
    do(site, chat, 1, "hide")
    assert not chat.messages.get(index=1).is_system


def test_a_message_is_left_out_of_memory_and_taken_back(site: Client, chat: Chat) -> None:
    assert "Left out of memory" in site.post(url(chat, 1, "leave-out"), **HTMX).content.decode()
    assert chat.messages.with_swipes().get(index=1).extra == {"loci": {"leave_out": True}}
    assert "Take back into memory" in site.get(url(chat, 1, "tools"), **HTMX).content.decode()
    assert "Left out of memory" not in do(site, chat, 1, "leave-out").content.decode()
    message = chat.messages.with_swipes().get(index=1)
    assert (message.left_out, message.is_system, message.extra) == (False, False, {})


def test_a_message_is_deleted_and_brought_back(site: Client, chat: Chat) -> None:
    shown = do(site, chat, 1, "remove").content.decode()
    assert texts(chat) == ["Where is the key?", "Then let us go."]
    chat.refresh_from_db()
    assert f'action="/chats/{chat.pk}/undo/{chat.rev}/"' in shown
    assert "Message 1 is deleted." in shown
    site.post(f"/chats/{chat.pk}/undo/")
    assert texts(chat) == ["Where is the key?", "Under the stone.", "Then let us go."]
    refused = site.get(site.post(f"/chats/{chat.pk}/undo/").url)  # what is left was not written here
    assert "by another program or device" in refused.content.decode()
    assert texts(chat) == ["Where is the key?", "Under the stone.", "Then let us go."]


def test_the_button_after_a_deletion_brings_back_that_message_whatever_a_program_wrote_since(
    site: Client, chat: Chat
) -> None:
    do(site, chat, 1, "remove")
    chat.refresh_from_db()
    deletion = f"/chats/{chat.pk}/undo/{chat.rev}/"
    patch_messages(chat.owner, chat.pk, [Patch(index=0, extra={"note": 1})], Guard(force=True, writer="a program"))
    assert "The change is undone." in site.get(site.post(deletion).url).content.decode()
    assert texts(chat) == ["Where is the key?", "Under the stone.", "Then let us go."]
    assert chat.messages.get(index=0).extra["note"] == 1


def test_the_button_says_why_it_can_not_undo(site: Client, chat: Chat) -> None:
    do(site, chat, 1, "insert", text="Wait!", speaker="character")
    chat.refresh_from_db()
    insertion = f"/chats/{chat.pk}/undo/{chat.rev}/"
    patch_messages(chat.owner, chat.pk, [Patch({"mes": "Wait."}, index=1)], Guard(force=True))
    assert "was changed again since" in site.get(site.post(insertion).url).content.decode()
    assert texts(chat)[1] == "Wait."


def test_undo_in_the_menu_takes_back_nothing_that_a_program_wrote(site: Client, chat: Chat) -> None:
    do(site, chat, 1, "hide")
    patch_messages(chat.owner, chat.pk, [Patch({"mes": "Where?"}, index=0)], Guard(force=True, writer="a program"))
    assert "by another program or device" in site.get(site.post(f"/chats/{chat.pk}/undo/").url).content.decode()
    assert texts(chat)[0] == "Where?"


def test_a_message_is_moved_and_one_inserted(site: Client, chat: Chat) -> None:
    do(site, chat, 2, "move", to=0)
    assert texts(chat)[0] == "Then let us go."
    assert "Enter a position from 0 to 2" in do(site, chat, 2, "move", to=3).content.decode()
    do(site, chat, 1, "insert", text="Wait!", speaker="character")
    message = chat.messages.get(index=1)
    assert (message.mes, message.name, message.is_user) == ("Wait!", "Mira", False)
    assert site.post(url(chat, 1, "insert"), {"text": " "}).status_code == 400


def test_a_branch_opens_and_a_checkpoint_is_kept(site: Client, chat: Chat) -> None:
    shown = do(site, chat, 1, "branch").content.decode()
    assert "The heist - Branch #1" in shown
    branch = Chat.objects.for_owner(chat.owner_id).get(parent=chat)
    assert texts(branch) == texts(chat)[:2]
    assert 'data-at="0"' in do(site, chat, 0, "branch", checkpoint="on", title="Before").content.decode()
    assert Chat.objects.for_owner(chat.owner_id).get(is_checkpoint=True).title == "Before"


def test_a_scene_ends_has_a_name_and_a_recap_and_goes_on(site: Client, chat: Chat) -> None:
    assert "The stone" in site.post(url(chat, 1, "scene"), {"name": "The stone"}, **HTMX).content.decode()
    listed = site.get(f"/chats/{chat.pk}/scenes/", **HTMX).content.decode()
    assert "The stone" in listed
    assert "Current scene" in listed
    scene = chat.messages.get(index=1).pk
    shown = {"initial-name": "The stone", "initial-visible": "True", "initial-include": "True"}
    fields = shown | {"name": "A key", "recap": "A key was\r\nhidden.", "visible": "on"}
    assert site.post(f"/chats/{chat.pk}/scenes/{scene}/", fields).status_code == 302
    kept = scenes_of(chat)[0]
    assert (kept.name, kept.recap, kept.is_included) == ("A key", "A key was\nhidden.", False)
    assert "A key was" in site.get(f"/chats/{chat.pk}/").content.decode()
    site.post(f"/chats/{chat.pk}/scenes/{scene}/", fields | {"initial-recap": fields["recap"]})
    assert len(scenes_of(chat)[0].versions) == 1
    do(site, chat, 1, "scene")
    assert scenes_of(chat) == []
    assert site.post(f"/chats/{chat.pk}/scenes/{scene}/", fields).status_code == 404


def form_fields(page: str) -> dict[str, str]:
    """The fields of the only scene of the page of scenes, as a browser sends them."""
    inputs = [dict(re.findall(r'([\w-]+)="([^"]*)"', tag)) for tag in re.findall(r"<input [^>]*?name[^>]*>", page)]
    values = {each["name"]: each.get("value", "on") for each in inputs if "name" in each}
    recap = re.search(r'<textarea name="recap"[^>]*>\s?(.*?)</textarea>', page, re.DOTALL)
    assert recap is not None
    return values | {"recap": recap[1]}


def test_a_stale_form_writes_only_what_the_person_changed(site: Client, chat: Chat) -> None:
    """Its recap is older than the one written since, and doesn't become the current one again."""
    do(site, chat, 1, "scene")
    scene = scenes_of(chat)[0]
    change = Patch(id=scene.last.pk, data=scene_change(scene, recap="An old recap.", name="Before"))
    patch_messages(chat.owner_id, chat.pk, [change], Guard(optional=True))
    stale = form_fields(site.get(f"/chats/{chat.pk}/scenes/").content.decode())
    assert (stale["initial-recap"], stale["recap"], stale["name"]) == ("An old recap.", "An old recap.", "Before")
    newer = Patch(id=scene.last.pk, data=scene_change(scene, recap="A newer recap.", include=False))
    patch_messages(chat.owner_id, chat.pk, [newer], Guard(optional=True))
    assert site.post(f"/chats/{chat.pk}/scenes/{scene.last.pk}/", stale | {"name": "After"}).status_code == 302
    kept = scenes_of(chat)[0]
    assert (kept.name, kept.recap, kept.is_included) == ("After", "A newer recap.", False)
    assert [version["memory"] for version in kept.versions] == ["An old recap.", "A newer recap."]


def test_people_join_take_turns_and_leave(site: Client, chat: Chat) -> None:
    people = f"/chats/{chat.pk}/people/"
    assert ">Mira</a>" in site.get(people).content.decode()
    site.post(people, {"name": "Mira"})
    site.post(people, {"name": "Tam"})
    assert site.post(people, {"name": "Tam"}).status_code == 400
    mira, tam = chat.participants.order_by("position")
    assert (mira.character_id, tam.character.name) == (chat.character_id, "Tam")
    site.post(f"{people}{tam.pk}/", {"action": "earlier"})
    site.post(f"{people}{mira.pk}/", {"action": "mute"})
    assert [(one.name, one.muted) for one in chat.participants.order_by("position")] == [("Tam", False), ("Mira", True)]
    assert "Tam" in site.get(f"/chats/{chat.pk}/").content.decode()
    site.post(f"/chats/{chat.pk}/write/", {"text": "Go!", "speaker": str(tam.pk)})
    assert chat.messages.get(index=3).participant_id == tam.pk
    site.post(f"{people}{tam.pk}/", {"action": "remove"})
    assert [one.name for one in chat.participants.all()] == ["Mira"]


def test_who_joins_does_not_drive_the_character_out(site: Client, chat: Chat) -> None:
    site.post(f"/chats/{chat.pk}/people/", {"name": "Tam"})
    mira, tam = chat.participants.order_by("position")
    assert (mira.character_id, tam.character.name) == (chat.character_id, "Tam")
    assert chat.messages.get(index=1).participant_id == mira.pk
    page = site.get(f"/chats/{chat.pk}/").content.decode()
    assert [f">{name}</option>" in page for name in ("Alice", "Mira", "Tam")] == [True, True, True]


def test_the_menu_is_there_with_and_without_htmx(site: Client, chat: Chat) -> None:
    assert b"<html" not in site.get(url(chat, 1, "tools"), **HTMX).content
    assert b"<html" in site.get(url(chat, 1, "tools")).content
    for name in ("scenes", "people"):
        assert b"<html" in site.get(f"/chats/{chat.pk}/{name}/").content
