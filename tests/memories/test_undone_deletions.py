"""Undo of a deletion brings back what was remembered of the message, whether or not it was forgotten meanwhile."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Chat
from apps.chats.operations import Patch, patch_messages, undo_change
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import READING_TIERS, invalidate_chat, record_read
from apps.memories.models import Memory, MemorySource
from apps.memories.operations.memories import link_sources
from apps.memories.operations.merging import merge_memories
from apps.memories.operations.superseding import supersede
from tests.factories import UserFactory, make_character, make_chat, make_memory

UNCHECKED = Guard(optional=True)
STANDING = ("text", "state", "retired_reason", "superseded_by_id", "valid_from_id", "valid_to_id")
settled = pytest.mark.parametrize("settled", [False, True], ids=["at once", "after it was forgotten"])


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(owner: User) -> Chat:
    """A chat of which a run has read nothing worth remembering."""
    chat = make_chat(owner, "Hm.", "Yes.", "Well.", "Fine.", "Good.", character=make_character(owner))
    ExtractionRun.objects.create(owner_id=owner.pk, chat=chat, state="succeeded")
    record_read(chat, chat.messages.with_swipes(), READING_TIERS)
    return chat


def learn(chat: Chat, text: str, *indexes: int) -> Memory:
    """A memory that a run learnt from messages."""
    messages = [chat.messages.get(index=index) for index in indexes]
    memory = make_memory(chat, text, run=chat.runs.get(), valid_from=messages[-1])
    link_sources(chat.owner_id, memory.pk, messages)
    return memory


def remembered(chat: Chat) -> tuple[list[Any], list[Any]]:
    """All memories of the chat and their sources, but for the times of their last change."""
    memories = Memory.objects.for_owner(chat.owner_id).order_by("pk").values_list(*STANDING)
    sources = MemorySource.objects.for_owner(chat.owner_id).order_by("memory", "swipe")
    return list(memories), list(sources.values_list("memory_id", "message_id", "swipe_id", "lost"))


def delete_and_undo(chat: Chat, patch: Patch, *, settled: bool) -> None:
    patch_messages(chat.owner_id, chat.pk, [patch], UNCHECKED)
    if settled:
        invalidate_chat(chat.owner_id, chat.pk)
    undo_change(chat.owner_id, chat.pk, UNCHECKED)


@settled
def test_the_sources_of_its_memories(chat: Chat, settled: bool) -> None:
    learn(chat, "Mira hates the sea.", 2)
    learn(chat, "Mira has a sister.", 1, 2)
    before = remembered(chat)
    delete_and_undo(chat, Patch(index=2, delete=True), settled=settled)
    assert remembered(chat) == before
    invalidate_chat(chat.owner_id, chat.pk)
    assert remembered(chat) == before


@settled
def test_what_its_memories_had_superseded(chat: Chat, settled: bool) -> None:
    oslo, rome = learn(chat, "Mira lives in Oslo.", 1), learn(chat, "Mira lives in Rome.", 3)
    supersede(chat, oslo.pk, rome)
    before = remembered(chat)
    for index in (3, 1):
        delete_and_undo(chat, Patch(index=index, delete=True), settled=settled)
        assert remembered(chat) == before


@settled
def test_a_merge_with_its_members(chat: Chat, settled: bool) -> None:
    members = [learn(chat, "Mira likes tea.", 1), learn(chat, "Mira likes coffee.", 3)]
    merge_memories(chat, members, "Mira likes tea and coffee.", run_id=chat.runs.get().pk)
    before = remembered(chat)
    delete_and_undo(chat, Patch(index=3, delete=True), settled=settled)
    assert remembered(chat) == before


def test_a_memory_whose_successor_is_gone_is_active(chat: Chat) -> None:
    oslo, rome = learn(chat, "Mira lives in Oslo.", 1), learn(chat, "Mira lives in Rome.", 3)
    supersede(chat, oslo.pk, rome)
    patch_messages(chat.owner_id, chat.pk, [Patch(index=1, delete=True)], UNCHECKED)
    invalidate_chat(chat.owner_id, chat.pk)
    rome.delete()
    undo_change(chat.owner_id, chat.pk, UNCHECKED)
    assert Memory.objects.for_owner(chat.owner_id).active().get() == oslo


@settled
def test_the_sources_in_a_deleted_version(chat: Chat, settled: bool) -> None:
    learn(chat, "Mira hates the sea.", 2)
    _, sources = remembered(chat)
    patch_messages(chat.owner_id, chat.pk, [Patch(index=2, add_swipe=ParsedSwipe("Another version."))], UNCHECKED)
    delete_and_undo(chat, Patch(index=2, delete_swipe=0), settled=settled)
    assert remembered(chat)[1] == sources


def test_what_was_learnt_again_meanwhile_is_not_remembered_twice(chat: Chat) -> None:
    learn(chat, "Mira hates the sea.", 2)
    patch_messages(chat.owner_id, chat.pk, [Patch(index=2, delete=True)], UNCHECKED)
    chat.refresh_from_db()
    deletion = chat.rev
    invalidate_chat(chat.owner_id, chat.pk)
    again = learn(chat, "Mira hates the sea.", 1)
    undo_change(chat.owner_id, chat.pk, UNCHECKED, deletion)
    assert Memory.objects.for_owner(chat.owner_id).active().get() == again


def test_a_memory_that_was_deleted_meanwhile_stays_deleted(chat: Chat) -> None:
    gone, forgotten = learn(chat, "Mira hates the sea.", 2), learn(chat, "Mira has a sister.", 2)
    patch_messages(chat.owner_id, chat.pk, [Patch(index=2, delete=True)], UNCHECKED)
    gone.delete()
    forgotten.deleted_at = chat.created_at
    forgotten.save()
    undo_change(chat.owner_id, chat.pk, UNCHECKED)
    assert not Memory.objects.for_owner(chat.owner_id).present().exists()
