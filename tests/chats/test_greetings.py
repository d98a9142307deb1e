"""The first message of a chat: the character's greeting, with its alternatives as swipes."""

import pytest
from django.test import Client

from apps.chats.models import Chat, Message
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character


@pytest.fixture
def alice(db):
    return UserFactory()


@pytest.fixture
def mira(alice):
    return make_character(
        alice, first_mes="Welcome, {{user}}.", alternate_greetings=["Go away, <USER>.", " ", "{{char}} waves."]
    )


def first_messages(alice):
    chat = Chat.objects.for_owner(alice).get()
    messages = Message.objects.for_owner(alice).filter(chat=chat).with_swipes()
    return [[swipe.mes for swipe in message.ordered_swipes] for message in messages]


def test_a_chat_made_on_its_page_begins_with_the_greeting_and_its_alternatives(alice, mira):
    page = Client()
    page.force_login(alice)
    form = {"title": "The well", "character": "Mira", "user_name": "Alicia"}
    assert page.post("/chats/new/", form).status_code == 302
    assert first_messages(alice) == [["Welcome, Alicia.", "Go away, Alicia.", "Mira waves."]]
    assert Chat.objects.for_owner(alice).get().title == "The well"


def test_macros_of_a_greeting_are_those_of_a_card_and_names_are_no_macros(alice):
    page = Client()
    page.force_login(alice)
    make_character(alice, first_mes="Welcome, {{ User }}. {{unknown}} <bot>")
    assert page.post("/chats/new/", {"title": "", "character": "Mira", "user_name": "<BOT>"}).status_code == 302
    assert first_messages(alice) == [["Welcome, <BOT>. {{unknown}} Mira"]]


def test_the_api_greets_on_demand(alice, mira):
    api = client_of(alice)
    body = {"character": str(mira.pk), "greeting": True, "metadata": {"a": 1}}
    chat = api.post("/api/v1/chats/", body, format="json").json()
    assert (chat["message_count"], chat["title"], chat["metadata"]) == (1, "Mira", {"a": 1})
    assert first_messages(alice) == [["Welcome, You.", "Go away, You.", "Mira waves."]]


@pytest.mark.parametrize("greeting", [None, False])
def test_a_client_that_appends_its_own_greeting_gets_an_empty_chat(alice, mira, greeting):
    body = {"character": str(mira.pk)} | ({} if greeting is None else {"greeting": greeting})
    assert client_of(alice).post("/api/v1/chats/", body, format="json").json()["message_count"] == 0


def test_without_a_character_nobody_greets(alice):
    chat = client_of(alice).post("/api/v1/chats/", {"greeting": True}, format="json").json()
    assert chat["message_count"] == 0
    refused = client_of(alice).post("/api/v1/chats/", {"greeting": "yes"}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/greeting")
