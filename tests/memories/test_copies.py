"""What two branches of a story learnt in the same words is one memory to a person: listed, found and changed as one."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import branch_chat
from apps.exchange.memories.exporting import markdown_of
from apps.memories.models import Memory
from apps.memories.queries.memory_book import MemoryBook
from apps.search.service import SearchQuery, search
from apps.text.lexemes import Lexemes
from tests.factories import UserFactory, make_character, make_chat, make_memory

TEXT = "Mira has a white owl."


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "I have a white owl.", "Lovely.", "It is called Ash.", character=make_character(alice))


@pytest.fixture
def copies(chat: Chat) -> list[Memory]:
    """The memory as the chat and a branch of it have learnt it, each for itself."""
    branch = branch_chat(chat.owner_id, chat.pk, 1)
    return [make_memory(one, TEXT, lexemes=Lexemes(TEXT)) for one in (chat, branch)]


def fresh(memories: list[Memory]) -> list[Memory]:
    for memory in memories:
        memory.refresh_from_db()
    return memories


@pytest.mark.parametrize("url", ["/memories/", "/memories/?q=owl", "/memories/characters/{character}/book/"])
def test_a_list_of_several_chats_has_one_entry(site: Client, chat: Chat, copies: list[Memory], url: str) -> None:
    page = site.get(url.format(character=chat.character_id)).content.decode()
    assert page.count(f'<p class="memory-text">{TEXT}</p>') == 1


def test_each_branch_has_its_own_in_its_book(site: Client, copies: list[Memory]) -> None:
    for memory in copies:
        page = site.get(f"/memories/chats/{memory.chat_id}/book/").content.decode()
        assert page.count(f'<p class="memory-text">{TEXT}</p>') == 1
        assert f'value="{memory.pk}"' in page


def test_a_search_and_an_export_have_it_once(alice: User, chat: Chat, copies: list[Memory]) -> None:
    found = search(alice, SearchQuery("white owl", tiers=("long_term",))).results
    assert [result.memory.text for result in found if result.memory] == [TEXT]
    assert markdown_of(MemoryBook(alice.pk, character=chat.character)).decode().count("white owl") == 1


def test_what_is_not_the_same_stays(site: Client, alice: User, chat: Chat, copies: list[Memory]) -> None:
    make_memory(chat, TEXT, tier="session")
    make_memory(make_chat(alice, "Another.", character=chat.character), TEXT)
    make_memory(chat, TEXT, character=make_character(alice, "Tom"))
    make_memory(chat, "Mira has a grey owl.")
    assert site.get("/memories/").content.decode().count('<p class="memory-text">') == 5


def test_nobody_elses_memory_is_a_copy(site: Client, alice: User, chat: Chat) -> None:
    bob = UserFactory()
    theirs = make_memory(make_chat(bob, "Hers."), TEXT)
    mine = make_memory(chat, TEXT)
    Memory.objects.for_owner(bob).filter(pk=theirs.pk).update(story=mine.story)
    site.post(f"/memories/{mine.pk}/delete/")
    assert TEXT not in site.get("/memories/").content.decode()
    assert fresh([theirs])[0].deleted_at is None


def test_it_is_changed_as_one(site: Client, copies: list[Memory]) -> None:
    first = copies[0]
    site.post(f"/memories/{first.pk}/pin/")
    assert [memory.pinned for memory in fresh(copies)] == [True, True]
    form = {"text": "Mira has a snow owl.", "kind": "fact", "importance": 3}
    site.post(f"/memories/{first.pk}/edit/", form)
    assert [(memory.text, memory.importance) for memory in fresh(copies)] == [("Mira has a snow owl.", 3)] * 2
    site.post(f"/memories/{first.pk}/revert/")
    assert [memory.text for memory in fresh(copies)] == [TEXT] * 2
    site.post(f"/memories/{first.pk}/delete/")
    assert TEXT not in site.get("/memories/").content.decode()
    site.post(f"/memories/{first.pk}/restore/")
    assert not any(memory.deleted_at for memory in fresh(copies))


def test_a_choice_changes_it_as_one(site: Client, copies: list[Memory]) -> None:
    chosen = {"action": "forget", "memory": [copies[0].pk], "next": "/memories/"}
    reply = site.post("/memories/chosen/", chosen, follow=True)
    assert "1 memory forgotten." in reply.content.decode()
    assert all(memory.deleted_at for memory in fresh(copies))
    undo = [message.extra_tags for message in reply.context["messages"]][-1].removeprefix("undo ")
    site.post(undo)
    assert not any(memory.deleted_at for memory in fresh(copies))


def test_what_cannot_become_one_is_refused_before_the_form(site: Client, copies: list[Memory]) -> None:
    chosen = {"memory": [memory.pk for memory in copies]}
    page = site.get("/memories/merge/", chosen).content.decode()
    assert "different branches" in page
    assert "<textarea" not in page


def test_a_refused_merge_comes_back_filled_in(site: Client, chat: Chat, copies: list[Memory]) -> None:
    branch_made = {"memory": [memory.pk for memory in copies], "text": "A text that took a while."}
    changed_meanwhile = [make_memory(chat, "Mira hums."), make_memory(chat, "Mira sings.")]
    sent = {"memory": [memory.pk for memory in changed_meanwhile], "text": "A text that took a while."}
    Memory.objects.for_owner(chat.owner_id).filter(pk=changed_meanwhile[0].pk).update(state="retired")
    for form in (branch_made, sent):
        reply = site.post("/memories/merge/", form)
        assert reply.status_code == 400
        assert "A text that took a while.</textarea>" in reply.content.decode()


def test_the_proposed_text_says_each_sentence_once(site: Client, chat: Chat) -> None:
    two = [make_memory(chat, TEXT), make_memory(chat, TEXT)]
    page = site.get("/memories/merge/", {"memory": [memory.pk for memory in two]}).content.decode()
    assert page.split("<textarea")[1].count(TEXT) == 1
