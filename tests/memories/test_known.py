"""The short pages of what is known about the user and about a character."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import create_persona
from apps.memories.models import Memory
from apps.memories.operations.entities import get_or_create_entity
from tests.factories import UserFactory, make_character, make_chat, make_memory

HTMX = {"HX-Request": "true"}
YOU = "/memories/you/"


@pytest.fixture
def alice(db: None) -> User:
    user: User = UserFactory(name="Alice")
    create_persona(user, name="Al")
    return user


@pytest.fixture
def site(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "I like tea.", "So do I.", character=make_character(alice, "Mira"))


def remember(chat: Chat, text: str, name: str, kind: str = "preference") -> Memory:
    memory = make_memory(chat, text, kind=kind)
    memory.entities.add(get_or_create_entity(chat, name, "character"))
    return memory


def test_what_is_known_about_the_user_stands_on_one_page_by_all_their_names(site: Client, chat: Chat) -> None:
    remember(chat, "Al likes tea.", "al")
    remember(chat, "Alice is a baker.", "Alice", "fact")
    remember(chat, "Mira hates rain.", "Mira")
    html = site.get(YOU).content.decode()
    assert "Al likes tea." in html
    assert "Alice is a baker." in html
    assert "Mira hates rain." not in html
    assert "2 things about Al" in html
    about_mira = site.get(reverse("memories:about-character", args=[chat.character_id])).content.decode()
    assert "Mira hates rain." in about_mira
    assert "Al likes tea." not in about_mira


def test_what_two_chats_say_alike_stands_once(site: Client, alice: User, chat: Chat) -> None:
    other = make_chat(alice, "I like tea.", character=make_character(alice, "Salt"))
    for one in (chat, other):
        remember(one, "Al likes tea.", "Al")
    assert site.get(YOU).context["known"].total == 1


def test_a_line_is_corrected_and_forgotten_in_place(site: Client, chat: Chat) -> None:
    memory = remember(chat, "Al likes tea.", "Al")
    form = site.get(reverse("memories:edit", args=[memory.pk]), {"as": "line"}, headers=HTMX).content.decode()
    assert f"{reverse('memories:edit', args=[memory.pk])}?as=line" in form
    gone = site.post(reverse("memories:delete", args=[memory.pk]) + "?as=line", headers=HTMX).content.decode()
    assert "Forgotten." in gone
    assert 'class="known-line"' in gone
    assert "Al likes tea." not in site.get(YOU).content.decode()
    back = site.post(reverse("memories:restore", args=[memory.pk]) + "?as=line", headers=HTMX).content.decode()
    assert "Forget this" in back


def test_nobody_sees_what_is_known_about_others(site: Client, chat: Chat) -> None:
    remember(chat, "Al likes tea.", "Al")
    stranger = Client()
    stranger.force_login(UserFactory(name="Al"))
    assert "Al likes tea." not in stranger.get(YOU).content.decode()
    assert stranger.get(reverse("memories:about-character", args=[chat.character_id])).status_code == 404
