"""Test that a repair note can be seen and cancelled, and that the cancellation can be undone."""

import pytest
from django.test import Client

from apps.memories.models import VersionedText
from apps.memories.operations.texts import write_version
from apps.memories.queries.texts import current_version
from tests.factories import UserFactory, make_chat
from tests.injection.conftest import client_of


@pytest.fixture
def chat(db):
    chat = make_chat(UserFactory(), "Is she dead?", "Mira, who is dead, waves.")
    write_version(chat, "repair", text="Let it be her twin.", last=chat.messages.with_swipes().last())
    return chat


def note_of(chat):
    return current_version(chat, VersionedText.Kind.REPAIR).text


def test_a_note_is_shown_and_cancelled_by_the_api(chat):
    api, url = client_of(chat.owner), f"/api/v1/chats/{chat.pk}/repair/"
    assert api.get(url).json()["current"]["text"] == "Let it be her twin."
    assert api.delete(url).status_code == 204
    assert note_of(chat) == ""
    assert api.delete(url).status_code == 404


def test_a_note_is_cancelled_on_the_page_and_the_undo_brings_it_back(chat):
    site = Client()
    site.force_login(chat.owner)
    page = f"/memories/chats/{chat.pk}/book/story/"
    assert "Let it be her twin." in site.get(page).content.decode()
    note = current_version(chat, VersionedText.Kind.REPAIR)
    after = site.post(f"{page}repair/cancel/", follow=True).content.decode()
    assert "Let it be her twin." not in after
    assert f"/memories/digests/{note.pk}/restore/" in after
    assert site.post(f"{page}repair/cancel/", follow=True).status_code == 200
    site.post(f"/memories/digests/{note.pk}/restore/")
    assert note_of(chat) == "Let it be her twin."


def test_another_user_cannot_cancel_it(chat):
    stranger = UserFactory()
    site = Client()
    site.force_login(stranger)
    assert site.post(f"/memories/chats/{chat.pk}/book/story/repair/cancel/").status_code == 404
    assert client_of(stranger).delete(f"/api/v1/chats/{chat.pk}/repair/").status_code == 404
    assert note_of(chat)
