"""A deleted chat takes along what was remembered in it alone, and brings it back; what it was a branch of is known."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from apps.accounts.models import User
from apps.chats.models import Character, Chat, ChatChange
from apps.chats.operations import branch_chat, delete_chat, purge_chat, purge_old_chats, restore_chat
from apps.common.scoping import system_scope
from apps.extraction.runs.operations import start_run
from apps.memories.models import Arc, Entity, Inheritance, LedgerEntry, Memory, MemorySource, Relationship
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.memories import NewMemory, create_memory
from apps.memories.operations.superseding import supersede
from apps.memories.queries.arcs import arcs_in
from apps.memories.queries.memories import active_memories
from apps.memories.queries.relationships import relationships_in
from apps.search.indexing import index_messages
from apps.search.service import SearchQuery, search
from tests.database import stored_for_a_module
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.memories.test_branching import extract, say

MOVE = "*Nora left Paris on the third of May and moved to Lyon without her brother Tom.*"
PARIS = "*Nora moved to a small flat in Paris in March with her brother Tom.*"


@pytest.fixture(scope="module")
def stored_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Chat]:
    """A chat that was read once for all tests."""
    with stored_for_a_module(django_db_blocker):
        owner = UserFactory()
        chat = make_chat(owner, PARIS, "Yes.", "Well.", "Fine.", character=make_character(owner))
        extract(chat)
        yield chat


@pytest.fixture
def parent(stored_once: Chat, db: None) -> Chat:
    return Chat.objects.for_owner(stored_once.owner_id).select_related("owner", "character").get(pk=stored_once.pk)


@pytest.fixture
def owner(request: pytest.FixtureRequest, db: None) -> User:
    """The owner of ``parent``, where a test has it."""
    return request.getfixturevalue("parent").owner if "parent" in request.fixturenames else UserFactory()


@pytest.fixture
def mira(request: pytest.FixtureRequest, owner: User) -> Character:
    """The character of ``parent``, where a test has it."""
    has_parent = "parent" in request.fixturenames
    return request.getfixturevalue("parent").character if has_parent else make_character(owner)


def active(chat: Chat) -> set[str]:
    return {memory.text for memory in Memory.objects.for_owner(chat.owner_id).active_in(chat)}


def found(owner: User, words: str, **scope: Any) -> set[str]:
    results = search(owner, SearchQuery(words, **scope)).results
    return {result.memory.text if result.memory else result.message.mes for result in results}  # type: ignore[union-attr]


def branch_with_move(parent: Chat) -> Chat:
    branch = branch_chat(parent.owner_id, parent.pk, 2)
    say(branch, MOVE, "Yes.", "Well.")
    extract(branch)
    return branch


@pytest.mark.parametrize("purge", [False, True])
def test_what_a_deleted_branch_learnt_never_reaches_its_parent(owner: User, parent: Chat, purge: bool) -> None:
    before = active(parent)
    branch = branch_with_move(parent)
    assert any("Lyon" in text for text in active(branch))
    delete_chat(branch, keep_memories=True)
    if purge:
        purge_chat(owner, branch.pk)
    assert active(parent) == before
    assert not any("Lyon" in text for text in found(owner, "Nora Lyon", chat=parent.pk, character=parent.character_id))
    known = active_memories(parent, Memory.Tier.LONG_TERM, parent.character_id)
    assert not any("Lyon" in memory.text for memory in known)


@pytest.mark.parametrize("purge", [False, True])
def test_siblings_stay_apart_when_their_parent_is_deleted(owner: User, parent: Chat, purge: bool) -> None:
    first, second = branch_with_move(parent), branch_chat(owner, parent.pk, 2)
    before = active(second)
    assert before
    delete_chat(parent, keep_memories=False)
    if purge:
        purge_chat(owner, parent.pk)
    first.refresh_from_db()
    second.refresh_from_db()
    assert active(second) == before, "what a branch inherited stays with it"
    assert not any("Lyon" in text for text in active(second))
    assert any("Lyon" in text for text in active(first))


@pytest.mark.parametrize("keep", [False, True])
def test_another_story_of_the_character_knows_what_is_kept(
    owner: User, mira: Character, parent: Chat, keep: bool
) -> None:
    other = make_chat(owner, "Hello.", character=mira)
    make_memory(parent, "The lamp is broken.", tier="session", kind="detail")
    assert any("Paris" in text for text in active(other))
    delete_chat(parent, keep_memories=keep)
    assert any("Paris" in text for text in active(other)) is keep
    purge_chat(owner, parent.pk)
    assert any("Paris" in text for text in active(other)) is keep
    texts = {memory.text for memory in Memory.with_bin.for_owner(owner)}
    assert "The lamp is broken." not in texts
    assert bool(texts) is keep


def test_nothing_of_a_chat_in_the_bin_is_found_until_it_is_restored(owner: User, mira: Character) -> None:
    chat = make_chat(owner, "The red lantern hangs over the harbour.", "Yes.", character=mira)
    index_messages(owner, chat)
    create_memory(owner, NewMemory("The lantern is red.", "long_term", "fact", chat=chat), editor="alice")
    create_memory(owner, NewMemory("The lantern is old.", "session", "detail", chat=chat), editor="alice")
    everything = found(owner, "lantern")
    assert len(everything) >= 3
    delete_chat(chat)
    assert found(owner, "lantern") == found(owner, "lantern", character=mira.pk) == set()
    restore_chat(owner, chat.pk)
    assert found(owner, "lantern") == everything


def test_what_a_deleted_chat_had_replaced_elsewhere_is_true_again_until_it_is_restored(
    owner: User, mira: Character
) -> None:
    home, away = (make_chat(owner, "Hello.", character=mira) for _ in range(2))
    old = make_memory(home, "Mira lives in Oslo.")
    new = make_memory(away, "Mira lives in Rome.")
    supersede(away, old.pk, new)
    assert active(home) == {"Mira lives in Rome."}
    delete_chat(away)
    assert active(home) == {"Mira lives in Oslo."}
    restore_chat(owner, away.pk)
    assert active(home) == {"Mira lives in Rome."}
    purge_chat(owner, away.pk)
    old.refresh_from_db()
    assert active(home) == {"Mira lives in Oslo."}
    assert (old.state, old.superseded_by_id) == ("active", None)


def test_what_another_chat_said_too_does_not_go_with_the_chat(owner: User, mira: Character) -> None:
    home, away = (make_chat(owner, "Mira lives in Oslo.", character=mira) for _ in range(2))
    memory = make_memory(home, "Mira lives in Oslo.")
    for chat in (home, away):
        message = chat.messages.with_swipes().get()
        MemorySource.objects.create(owner_id=owner.pk, memory=memory, message=message, swipe=message.active_swipe)
    delete_chat(home)
    assert active(away) == {"Mira lives in Oslo."}
    delete_chat(away)
    restore_chat(owner, home.pk)
    assert active(home) == {"Mira lives in Oslo."}
    purge_chat(owner, home.pk)
    assert Memory.with_bin.for_owner(owner).get().in_bin
    purge_chat(owner, away.pk)
    assert not Memory.with_bin.for_owner(owner).exists()


def test_a_memory_that_loses_its_only_source_for_good_is_retired(owner: User, mira: Character) -> None:
    home, away = (make_chat(owner, "Mira lives in Oslo.", character=mira) for _ in range(2))
    memory = make_memory(home, "Mira lives in Oslo.")
    message = away.messages.with_swipes().get()
    MemorySource.objects.create(owner_id=owner.pk, memory=memory, message=message, swipe=message.active_swipe)
    delete_chat(away)
    assert active(home) == set()
    purge_chat(owner, away.pk)
    memory.refresh_from_db()
    assert (memory.state, memory.retired_reason, memory.in_bin) == ("retired", "source_gone", False)


def test_layers_of_a_deleted_chat_are_not_seen_in_others(owner: User, mira: Character) -> None:
    chat, other = (make_chat(owner, "Hello.", character=mira) for _ in range(2))
    here, there = (get_or_create_entity(chat, name, "character") for name in ("Mira", "Tom"))
    Relationship.objects.create(owner_id=owner.pk, chat=chat, subject=here, target=there, descriptor="wary")
    Arc.objects.create(owner_id=owner.pk, chat=chat, character=mira, text="Find the key.", persistent=True)
    assert relationships_in(other)
    assert arcs_in(other)
    delete_chat(chat)
    assert not relationships_in(other)
    assert not arcs_in(other)
    restore_chat(owner, chat.pk)
    assert arcs_in(other)


def test_a_purge_leaves_nothing_of_the_chat(owner: User, parent: Chat) -> None:
    index_messages(owner, parent)
    branch_with_move(parent)
    for chat in Chat.objects.for_owner(owner):
        purge_chat(owner, chat.pk)
    with system_scope():
        for model in (Chat, ChatChange, Memory, MemorySource, Inheritance, LedgerEntry, Relationship, Arc, Entity):
            rows = model._base_manager.filter(owner=owner)
            assert not rows.exists(), list(rows)


def test_a_chat_leaves_the_bin_for_good_after_thirty_days(owner: User, parent: Chat) -> None:
    delete_chat(parent)
    now = timezone.now()
    assert purge_old_chats(now + dt.timedelta(days=29)) == 0
    assert [chat.pk for chat in Chat.in_bin.for_owner(owner)] == [parent.pk]
    assert purge_old_chats(now + dt.timedelta(days=30)) == 1
    assert not Chat.in_bin.for_owner(owner).exists()


def test_runs_of_a_chat_end_when_it_is_deleted(owner: User, mira: Character) -> None:
    chat = make_chat(owner, PARIS, "Yes.", character=mira)
    run, _ = start_run(owner, chat)
    delete_chat(chat)
    run.refresh_from_db()
    assert run.state == "cancelled"
