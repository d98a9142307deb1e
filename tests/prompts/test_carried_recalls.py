"""Exported files carry recall cards, and an import makes them again for its own messages."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.models import Chat
from apps.exchange.chats.carried_recalls import read_recall
from apps.exchange.chats.exports import export_json, export_jsonl
from apps.exchange.chats.imports import import_chats
from apps.prompts.models import Recall
from apps.prompts.operations import delete_recall, edit_recall, ensure_recall
from apps.prompts.slots.entries import Entry
from tests.factories import UserFactory, make_character, make_chat

EXPORTS = {"jsonl": export_jsonl, "json": export_json}


@pytest.fixture
def recall(chat, memories) -> Recall:
    """Return the card of the last message, with one entry more: a passage of the second message."""
    recall = ensure_recall(chat.owner, chat.pk, chat.messages.order_by("index").last().pk)
    said = chat.messages.get(index=1)
    recall.memories.append(Entry(said.pk, "messages", "said", "Mira: …", 1.0, 0.5, "", said.pk).document("triggered"))
    recall.save()
    return recall


def file_of(chat, form="jsonl") -> bytes:
    return b"".join(EXPORTS[form](chat))


def take_in(owner, content: bytes):
    return import_chats(owner, io.BytesIO(content), filename="chat.json")


def card_of(chat: Chat) -> Recall:
    return Recall.objects.for_owner(chat.owner_id).get(chat=chat)


def damaged(chat, **changes) -> bytes:
    lines = [json.loads(line) for line in file_of(chat).splitlines()]
    lines[-1]["extra"]["loci"]["recall"] |= changes
    return "\n".join(json.dumps(line) for line in lines).encode()


@pytest.mark.parametrize("form", EXPORTS)
def test_a_file_carries_the_card_to_the_same_message(alice, chat, recall, form):
    [again] = take_in(alice, file_of(chat, form)).chats
    card, last = card_of(again), again.messages.order_by("index").last()
    assert card.message_id == last.pk
    assert "loci" not in last.active_swipe.extra
    assert (card.text, card.tokens, card.turn_hash) == (recall.text, recall.tokens, recall.turn_hash)
    without_ids = [[item | {"id": "", "message": ""} for item in each.memories] for each in (card, recall)]
    assert without_ids[0] == without_ids[1]
    source = str(again.messages.get(index=1).pk)
    assert (card.memories[-1]["id"], card.memories[-1]["message"]) == (source, source)
    first, second = (json.loads(file_of(each).splitlines()[-1])["extra"] for each in (chat, again))
    assert first == second


def test_a_card_links_to_memories_of_its_own_account(alice, chat, recall):
    of_memories = [item["id"] for item in recall.memories if item["tier"] == "long_term"]
    [again] = take_in(alice, file_of(chat)).chats
    assert [item["id"] for item in card_of(again).memories if item["tier"] == "long_term"] == of_memories != []
    [foreign] = take_in(UserFactory(), file_of(chat)).chats
    assert not {item["id"] for item in card_of(foreign).memories} & set(of_memories)


def test_an_edited_card_stays_edited_and_a_deleted_one_deleted(alice, chat, recall):
    edit_recall(recall, "The key is made of glass.", turn_hash=recall.turn_hash)
    [again] = take_in(alice, file_of(chat)).chats
    assert (card_of(again).text, card_of(again).edited) == ("The key is made of glass.", True)
    delete_recall(card_of(again))
    [deleted] = take_in(alice, file_of(again)).chats
    assert card_of(deleted).deleted
    last = deleted.messages.order_by("index").last()
    assert ensure_recall(alice, deleted.pk, last.pk).text == ""


def test_an_entry_does_not_link_to_another_message_of_a_file_that_was_changed(alice, chat, recall):
    lines = file_of(chat).splitlines(keepends=True)
    [again] = take_in(alice, b"".join([lines[0], *lines[2:]])).chats
    assert not [item["message"] for item in card_of(again).memories if item["message"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"text": None},
        {"edited": "yes"},
        {"source": "elsewhere"},
        {"memories": [{"id": "x"}]},
        {"memories": {}},
        {"left_out_count": -1},
        {"left_out_count": 10**400},
        {"turn_hash": "x" * 65},
    ],
)
def test_a_damaged_card_is_not_read_and_reported_and_its_data_stays(alice, chat, recall, changes):
    result = take_in(alice, damaged(chat, **changes))
    assert result.report.warnings == ["A recall card was damaged: it was not read. (message 31)"]
    [again] = result.chats
    assert again.message_count == chat.message_count
    assert not Recall.objects.for_owner(alice).filter(chat=again).exists()
    assert changes.items() <= again.messages.order_by("index").last().active_swipe.extra["loci"]["recall"].items()


def test_other_data_of_a_message_stays(alice):
    chat = make_chat(alice, "Where is the key?", character=make_character(alice))
    swipe = chat.messages.get().active_swipe
    swipe.extra = {"gen": 1, "loci": {"leave_out": True}, "z": []}
    swipe.save()
    Recall.objects.create(owner=alice, chat=chat, message=chat.messages.get(), text="Under a stone.", turn_hash="0")
    [again] = take_in(alice, file_of(chat)).chats
    assert json.dumps(again.messages.get().active_swipe.extra) == json.dumps(swipe.extra)
    assert card_of(again).text == "Under a stone."


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_any_damaged_data_is_ignored(value):
    assert read_recall(value) is None
