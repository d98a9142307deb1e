"""A person writes a memory: in the book, or from a message; it has its source, its date and those who know it."""

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.memories.labels import EXPLANATIONS, confidence_label
from apps.memories.models import Memory
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    chat = make_chat(alice, "I sold the ferry yesterday.", "Oh.", "Really.", character=make_character(alice))
    Message.objects.for_owner(alice).filter(chat=chat).update(sent_at=dt.datetime(2024, 3, 5, 12, tzinfo=dt.UTC))
    return chat


def first_message(chat: Chat) -> Message:
    return Message.objects.for_owner(chat.owner_id).get(chat=chat, index=0)


def url_of(chat: Chat) -> str:
    return f"/memories/chats/{chat.pk}/remember/"


def written(**fields: Any) -> dict[str, Any]:
    return {"text": "Alice sold the ferry.", "kind": "event", "importance": "3", "tier": "long_term"} | fields


def test_a_memory_is_written_in_the_book(alice: User, site: Client, chat: Chat) -> None:
    book = f"/memories/chats/{chat.pk}/book/"
    assert url_of(chat) in site.get(book).content.decode()
    reply = site.post(url_of(chat), written(), follow=True)
    memory = Memory.objects.for_owner(alice).get()
    assert (memory.text, memory.kind, memory.importance, memory.tier) == (
        "Alice sold the ferry.",
        "event",
        3,
        "long_term",
    )
    assert (memory.chat, memory.character, memory.edited_by) == (chat, chat.character, str(alice))
    assert reply.redirect_chain == [(book, 302)]
    assert f"/memories/{memory.pk}/delete/" in reply.content.decode()


def test_a_memory_is_written_in_the_book_of_a_character(alice: User, site: Client, chat: Chat) -> None:
    assert chat.character
    book = f"/memories/characters/{chat.character.pk}/book/"
    url = f"/memories/characters/{chat.character.pk}/remember/"
    assert url in site.get(book).content.decode()
    assert site.post(url, written()).status_code == 302
    memory = Memory.objects.for_owner(alice).get()
    assert (memory.character, memory.chat, memory.tier) == (chat.character, None, "long_term")


def test_the_form_proposes_the_message_with_its_date_and_keeps_it_as_the_source(
    alice: User, site: Client, chat: Chat
) -> None:
    message = first_message(chat)
    form = site.get(f"{url_of(chat)}?message={message.pk}", **HTMX).content.decode()
    assert "I sold the ferry yesterday (4 March 2024)." in form
    assert "<html" not in form
    chosen = site.get(f"{url_of(chat)}?message={message.pk}&text=the+ferry", **HTMX).content.decode()
    assert re.search(r"<textarea[^>]*>\s*the ferry</textarea>", chosen)
    reply = site.post(url_of(chat), written(message=str(message.pk)), **HTMX)
    memory = Memory.objects.for_owner(alice).get()
    assert (memory.source_message_ids, memory.valid_from_id) == ([message.pk], message.pk)
    assert reply["HX-Trigger"] == "remembered"
    card = reply.content.decode()
    assert f'id="memory-{memory.pk}"' in card
    assert "5 Mar 2024" in card


def test_without_javascript_the_form_is_a_page(site: Client, chat: Chat) -> None:
    page = site.get(f"{url_of(chat)}?message={first_message(chat).pk}").content.decode()
    assert "Remember something" in page
    reply = site.post(url_of(chat), written(text=""))
    assert (reply.status_code, Memory.objects.for_owner(chat.owner_id).exists()) == (400, False)


def test_a_message_of_another_chat_or_person_is_not_found(alice: User, site: Client, chat: Chat) -> None:
    elsewhere = first_message(make_chat(alice, "Elsewhere."))
    foreign_chat = make_chat(UserFactory(), "Foreign.")
    for message in (elsewhere.pk, first_message(foreign_chat).pk, "x"):
        assert site.get(url_of(chat), {"message": message}).status_code == 404
        assert site.post(url_of(chat), written(message=str(message))).status_code == 404
    assert site.post(url_of(foreign_chat), written()).status_code == 404
    assert not Memory.objects.for_owner(alice).exists()
    assert not Memory.objects.for_owner(foreign_chat.owner_id).exists()


def test_in_a_group_one_chooses_who_knows_it_and_only_witnesses_do(alice: User, site: Client) -> None:
    chat = create_chat(alice, title="Group", user_name="Alice")
    mira, tom = (
        add_participant(alice, chat.pk, name=name, character=make_character(alice, name)) for name in ("Mira", "Tom")
    )
    seen_by_tom = {"loci": {"witnesses": ["Tom"]}}
    append_messages(alice, chat.pk, [parsed("I sold it.", is_user=True, extra=seen_by_tom)])
    page = site.get(url_of(chat)).content.decode()
    assert re.findall(r'<option value="([^"]+)"[^>]*>(Mira|Tom)</option>', page) == [
        (str(mira.character_id), "Mira"),
        (str(tom.character_id), "Tom"),
    ]
    source = {"message": str(first_message(chat).pk)}
    assert site.post(url_of(chat), written(character=str(tom.character_id), **source)).status_code == 302
    memory = Memory.objects.for_owner(alice).get()
    assert (memory.character, memory.witnessed_by) == (tom.character, [tom.pk])


def test_the_card_says_in_words_what_its_labels_mean(site: Client, chat: Chat) -> None:
    make_memory(chat, "Tom came back.", kind="development", tier="session", confidence=0.32)
    page = site.get("/memories/").content.decode()
    assert "Turn of events" in page
    assert "Something that was decided, begun, ended or changed." in page
    assert "Not repeated for long" in page
    assert ".32" not in re.sub(r'value="[^"]*"', "", page)


def test_every_tier_and_kind_is_explained() -> None:
    assert {*Memory.Tier.values, *Memory.Kind.values} <= EXPLANATIONS.keys()
    assert [confidence_label(value) for value in (0, 0.3, 0.7, 0.8, 1)] == [
        "not repeated for long",
        "not repeated for long",
        "said once",
        "confirmed",
        "confirmed often",
    ]
