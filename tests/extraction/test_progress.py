"""A message is read again if what a reading depends on has changed since, and only then."""

from typing import Any

import pytest

from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import DataChange
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Chat
from apps.chats.operations import Patch, branch_chat, patch_messages
from apps.extraction.progress import changed_message_ids, record_read
from tests.factories import UserFactory, make_chat

WITNESSES = [None, ["Mira"], [], ["Mira", "Tóm"], "Mira", ["Mira", 5]]


@pytest.fixture
def chat(db: None) -> Chat:
    """A chat whose three messages have been read."""
    chat = make_chat(UserFactory(), "Where is the key?", "Ünder the stone.", "Then let us go.")
    record_read(chat, chat.messages.with_swipes(), ["session"])
    return chat


def change(chat: Chat, **parts: Any) -> None:
    patch_messages(chat.owner_id, chat.pk, [Patch(index=1, **parts)], Guard(force=True))


@pytest.mark.parametrize(
    "parts",
    [
        {"values": {"name": "Tolly"}},
        {"values": {"mes": "Under the tree."}},
        {"add_swipe": ParsedSwipe("Ünder the stone.")},
        {"data": DataChange("loci", {"witnesses": ["Mira"]})},
        {"data": DataChange("loci", {"witnesses": []})},
    ],
)
def test_another_speaker_text_swipe_or_witness_is_a_change(chat: Chat, parts: dict[str, Any]) -> None:
    change(chat, **parts)
    message = chat.messages.get(index=1)
    assert changed_message_ids(chat) == [message.pk]
    record_read(chat, chat.messages.with_swipes(), ["session"])
    assert changed_message_ids(chat) == []


@pytest.mark.parametrize(
    "parts",
    [
        {"values": {"is_system": True}},
        {"values": {"send_date": "2024-01-01T00:00:00Z"}},
        {"extra": {"model": "m"}},
        {"data": DataChange("loci", {"witnesses": None})},
        {"move_to": 2},
    ],
)
def test_what_a_reading_does_not_see_is_no_change(chat: Chat, parts: dict[str, Any]) -> None:
    change(chat, **parts)
    assert changed_message_ids(chat) == []


@pytest.mark.parametrize("named", WITNESSES)
def test_a_message_just_read_has_not_changed_whatever_its_data_say(chat: Chat, named: Any) -> None:
    """Its fingerprint is computed in Python when it is read, and in the database when changes are looked for."""
    change(chat, data=DataChange("loci", {"witnesses": named}))
    record_read(chat, chat.messages.with_swipes(), ["session"])
    assert changed_message_ids(chat) == []


def test_a_branch_reads_again_what_had_changed_in_its_parent(chat: Chat) -> None:
    change(chat, values={"name": "Tolly"})
    branch = branch_chat(chat.owner_id, chat.pk, at=2)
    assert sorted(branch.progress.values_list("message__index", flat=True)) == [0, 2]
