"""Several memories are changed together, in the list and in the book, and that is undone; later changes stay."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.memories import operations
from apps.memories.models import Memory
from tests.factories import UserFactory, make_character, make_chat, make_memory

URL = "/memories/chosen/"


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Tea?", "Yes.", character=make_character(alice))


@pytest.fixture
def three(chat: Chat) -> list[Memory]:
    return [make_memory(chat, text) for text in ("Tom likes tea.", "Tom likes green tea.", "Mira hums.")]


def change(site: Client, action: str, memories: list[Memory], **fields: Any) -> Any:
    chosen = [str(memory.pk) for memory in memories]
    return site.post(URL, {"action": action, "memory": chosen, "next": "/memories/?kind=fact"} | fields, follow=True)


def fresh(memories: list[Memory]) -> list[Memory]:
    for memory in memories:
        memory.refresh_from_db()
    return memories


def undo(site: Client, reply: Any) -> Any:
    """Press the button of the last toast."""
    tags = [message.extra_tags for message in reply.context["messages"]]
    return site.post(tags[-1].removeprefix("undo "), follow=True)


@pytest.mark.parametrize("url", ["/memories/", "/memories/chats/{chat}/book/"])
def test_each_memory_of_a_list_can_be_chosen(site: Client, chat: Chat, three: list[Memory], url: str) -> None:
    page = site.get(url.format(chat=chat.pk)).content.decode()
    assert page.count('form="chosen"') == 3
    assert f'action="{URL}"' in page


@pytest.mark.parametrize(
    ("action", "name", "value", "words"),
    [
        ("pin", "pinned", True, "2 memories pinned."),
        ("hide", "hidden", True, "2 memories hidden from prompts."),
        ("importance-3", "importance", 3, "2 memories set to high importance."),
    ],
)
def test_chosen_memories_are_changed_and_that_is_undone(
    site: Client, alice: User, three: list[Memory], action: str, name: str, value: Any, words: str
) -> None:
    before = getattr(three[0], name)
    reply = change(site, action, three[:2])
    assert reply.redirect_chain == [("/memories/?kind=fact", 302)]
    assert words in reply.content.decode()
    assert [getattr(memory, name) for memory in fresh(three)] == [value, value, before]
    assert (three[0].edited_by, three[0].version) == (str(alice), 2)
    assert "Undone for 2 memories." in undo(site, reply).content.decode()
    assert [getattr(memory, name) for memory in fresh(three)] == [before] * 3
    assert three[0].edited_by == ""


def test_chosen_memories_are_forgotten_and_that_is_undone(site: Client, three: list[Memory]) -> None:
    reply = change(site, "forget", three)
    assert all(memory.deleted_at for memory in fresh(three))
    undo(site, reply)
    assert not any(memory.deleted_at for memory in fresh(three))


def test_undo_leaves_what_was_changed_since(site: Client, three: list[Memory]) -> None:
    reply = change(site, "hide", three[:2])
    operations.edit_memory(fresh(three)[0], editor="somebody", text="Tom likes black tea.", hidden=True)
    assert "Undone for 1 memory. 1 changed since and stayed." in undo(site, reply).content.decode()
    assert [memory.hidden for memory in fresh(three)] == [True, False, False]
    assert three[0].text == "Tom likes black tea."
    assert "can no longer be undone" in undo(site, reply).content.decode()


def test_chosen_memories_lead_to_the_page_that_merges_them(site: Client, three: list[Memory]) -> None:
    reply = change(site, "merge", three[:2])
    assert "Tom likes tea. Tom likes green tea." in reply.content.decode()


def test_without_a_choice_or_with_anothers_memory_nothing_is_changed(site: Client, three: list[Memory]) -> None:
    foreign = make_memory(make_chat(UserFactory(), "Foreign."), "A secret.")
    assert "0 memories pinned." in change(site, "pin", [foreign]).content.decode()
    too_many = [str(uuid4()) for _ in range(201)]
    for action, wrong in (("pin", []), ("pin", ["x"]), ("pin", too_many), ("explode", too_many[:1])):
        assert "Nothing was changed." in change(site, action, three, memory=wrong).content.decode()
    assert not fresh([foreign])[0].pinned
