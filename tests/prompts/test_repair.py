"""The repair note: it stands in the next prompt, can be cancelled, and is gone after the next reply."""

import re

import pytest
from django.test import Client

from apps.chats.locking import Guard
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Message
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.memories.models import VersionedText
from apps.memories.operations.texts import NewVersion, write_version
from apps.prompts.retrieval.texts import pending_note
from tests.factories import parsed

HTMX = {"HTTP_HX_REQUEST": "true"}
ANY = Guard(optional=True)


@pytest.fixture
def reply(chat) -> Message:
    """Return a reply about which there is a note."""
    message = append_messages(chat.owner, chat.pk, [parsed("Mira, who is dead, waves.")]).messages[0]
    write_version(chat, "repair", NewVersion("Let it turn out to be her <twin>.", last=message))
    return message


@pytest.fixture
def url(chat) -> str:
    return f"/api/v1/chats/{chat.pk}/repair/"


def repair_slot(api, chat, text=None) -> str:
    slots = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": text}).json()["slots"]
    return next(slot["text"] for slot in slots if slot["name"] == "repair")


def test_the_api_tells_and_cancels_the_note_of_the_next_prompt(api, chat, reply, url):
    note = api.get(url).json()["note"]
    assert (note["text"], note["message"]) == ("Let it turn out to be her <twin>.", str(reply.pk))
    assert "twin" in repair_slot(api, chat, "Who is that?")
    assert api.delete(url).status_code == 204
    assert api.get(url).json() == {"note": None}
    assert repair_slot(api, chat, "Who is that?") == ""
    assert api.delete(url).status_code == 404
    assert VersionedText.objects.for_owner(chat.owner).get(kind="repair").retired_by == str(chat.owner)


def test_a_note_is_nobody_elses(stranger, reply, url):
    assert stranger.get(url).status_code == 404
    assert stranger.delete(url).status_code == 404
    assert pending_note(reply.chat) is not None


def test_two_turns_before_the_reply_both_have_the_note(api, chat, reply):
    append_messages(chat.owner, chat.pk, [parsed("Wait.", is_user=True), parsed("Who is that?", is_user=True)])
    assert "twin" in repair_slot(api, chat)


def test_the_note_is_gone_after_the_next_reply_and_for_its_other_versions(api, chat, reply):
    turn, answer = append_messages(chat.owner, chat.pk, [parsed("Who?", is_user=True), parsed("Her twin.")]).messages
    assert repair_slot(api, chat) == ""
    add = Patch(id=answer.pk, add_swipe=ParsedSwipe("Her sister.", {}))
    patch_messages(chat.owner, chat.pk, [add, Patch(id=answer.pk, swipe_id=1)], ANY)
    assert repair_slot(api, chat) == ""
    assert turn.index == answer.index - 1


def test_the_note_is_gone_with_another_version_of_its_reply(api, chat, reply):
    patch_messages(chat.owner, chat.pk, [Patch(id=reply.pk, add_swipe=ParsedSwipe("Nobody waves.", {}))], ANY)
    assert repair_slot(api, chat, "Who is that?") == ""
    assert pending_note(chat) is None


def test_a_note_does_not_stand_in_a_prompt_without_its_reply(api, chat, reply):
    """As for another version of it: the last turn is before the reply."""
    assert repair_slot(api, chat) == ""
    assert "twin" in repair_slot(api, chat, "Who is that?")


def test_what_shows_the_next_prompt_shows_the_note_of_the_reply_to_the_last_turn(api, alice, chat):
    _, answer = append_messages(chat.owner, chat.pk, [parsed("Who?", is_user=True), parsed("Mira waves.")]).messages
    write_version(chat, "repair", NewVersion("Let it turn out to be her twin.", last=answer))
    preview = api.post(f"/api/v1/chats/{chat.pk}/prompt/preview/", {}).json()
    assert "twin" in next(slot["text"] for slot in preview["slots"] if slot["name"] == "repair")
    assert "twin" in preview["messages"][-1]["content"]
    site = Client()
    site.force_login(alice)
    assert "Let it turn out to be her twin." in site.get(f"/chats/{chat.pk}/prompt/").content.decode()


def test_the_note_is_gone_with_its_reply(api, chat, reply):
    patch_messages(chat.owner, chat.pk, [Patch(id=reply.pk, delete=True)], ANY)
    assert repair_slot(api, chat, "Who is that?") == ""


def test_the_page_shows_the_note_under_its_reply_with_a_cancel(alice, chat, reply):
    site = Client()
    site.force_login(alice)
    page = site.get(f"/chats/{chat.pk}/").content.decode()
    assert page.count("This reply contradicts what is known.") == 1
    assert "her &lt;twin&gt;" in page
    [cancel] = re.findall(r'hx-post="([^"]*/repair/cancel/[^"]*)"', page)
    gone = site.post(cancel, **HTMX)
    assert 'class="repair"' in gone.content.decode()
    assert "contradicts" not in gone.content.decode()
    assert site.post(cancel, **HTMX).status_code == 200  # canceled in another tab
    assert pending_note(chat) is None


def test_without_scripts_the_note_has_a_page(alice, chat, reply):
    site = Client(enforce_csrf_checks=True)
    site.force_login(alice)
    page = site.get(f"/chats/{chat.pk}/repair/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    done = site.post(f"/chats/{chat.pk}/repair/cancel/", {"csrfmiddlewaretoken": token})
    assert done["Location"] == f"/chats/{chat.pk}/"
    assert "no note" in site.get(f"/chats/{chat.pk}/repair/").content.decode()
