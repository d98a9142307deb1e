"""The welcome: what Loci is, a chat of one's own, a memory of it; and never again."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.llm.operations import create_connection, use_for
from tests.factories import UserFactory, make_chat, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


def test_a_new_user_is_told_what_loci_is_and_brings_a_chat(alice: User, site: Client) -> None:
    html = site.get("/").content.decode()
    assert "Loci is a memory for long chats with language models." in html
    lines = [{"user_name": "Alice", "character_name": "Mira"}, {"name": "Mira", "is_user": False, "mes": "Come in."}]
    file = SimpleUploadedFile("Mine.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert site.post("/chats/import/", {"file": file, "welcome": "on"})["Location"] == "/"
    assert Chat.objects.for_owner(alice).get().title == "Mine"
    html = site.get("/").content.decode()
    assert "Your chat is here." in html
    assert 'hx-get="/memories/welcome/"' in html


def test_the_last_step_waits_for_a_memory_and_shows_it(alice: User, site: Client) -> None:
    chat = make_chat(alice, "Under the blue stone.")
    make_memory(make_chat(UserFactory()), "The memory of somebody else.")
    waiting = site.get("/memories/welcome/").content.decode()
    assert "Loci is reading your chat." in waiting
    assert "hx-trigger" in waiting
    make_memory(chat, "The key is under the blue stone.", valid_from=chat.messages.get())
    shown = site.get("/memories/welcome/").content.decode()
    assert "The key is under the blue stone." in shown
    assert f"/chats/{chat.pk}/?at=0" in shown
    assert "hx-trigger" not in shown
    assert 'href="/settings/models/add/"' in shown
    use_for(create_connection(alice, name="Mine", base_url="http://127.0.0.1:9/v1", model="small"), generation=True)
    assert "/settings/models/" not in site.get("/memories/welcome/").content.decode()


def test_the_welcome_is_dismissed_for_good(alice: User, site: Client) -> None:
    site.post("/welcome/end/")
    assert "Welcome to Loci" not in site.get("/").content.decode()
    assert "No chats yet" in site.get("/").content.decode()
    again = Client()
    again.force_login(User.objects.get(pk=alice.pk))
    assert "Welcome to Loci" not in again.get("/").content.decode()
