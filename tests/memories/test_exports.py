"""What is remembered of a chat, as one document: complete and versioned."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.chats.models import Chat
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.settings.stores import change_settings
from apps.memories.api.exports import SCHEMA_VERSION
from apps.memories.models import MemorySource, VersionedText
from apps.memories.operations.arcs import create_arc
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from apps.memories.operations.texts import edit_text
from tests.factories import make_character, make_chat, make_memory

SAID = ["I live in a small flat in Paris with my brother Tom.", "Hm.", "I moved to Lyon in May.", "Ah.", "Well then."]


@pytest.fixture
def chat(alice: APIClient) -> Chat:
    return make_chat(alice.user, *SAID, character=make_character(alice.user))


def exported(client: APIClient, chat: Chat) -> dict[str, Any]:
    reply = client.get(f"/api/v1/chats/{chat.pk}/memory-export/")
    assert reply.status_code == 200, reply.content
    assert reply["Content-Disposition"] == f'attachment; filename="memories-{chat.pk}.json"'
    return json.loads(reply.content)


def test_an_export_holds_every_layer(alice: APIClient, chat: Chat) -> None:
    old = make_memory(chat, "Alice lives in Paris.", state="superseded")
    new = make_memory(chat, "Alice lives in Lyon.")
    old.superseded_by = new
    old.save()
    gone = make_memory(chat, "Tombstone", deleted_at=chat.created_at)
    message = chat.messages.with_swipes().order_by("index").first()
    MemorySource.objects.create(owner=chat.owner, memory=old, message=message, swipe=message.active_swipe)
    editor = {"editor": "alice"}
    create_arc(chat, "Why did she move?", persistent=False, **editor)
    set_field_by_hand(chat, name="Alice", kind="character", field="location", value="Paris", **editor)
    set_field_by_hand(chat, name="Alice", kind="character", field="location", value="Lyon", **editor)
    create_knowledge(chat, kind="hiding", subject="Tom", target="Alice", text="He has a dog.", **editor)
    set_relationship(chat, subject="Tom", target="Alice", word="loyal", magnitude="high", **editor)
    edit_text(chat, VersionedText.Kind.SUMMARY, character=None, text="She moved.", **editor)
    change_settings(chat.owner, {"extract_every": 5})
    change_settings(chat.owner, {"arcs_cap": 3}, chat=chat)

    document = exported(alice, chat)
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["chat"]["title"] == "The heist"
    assert document["settings"]["user"] == {"extract_every": 5}
    assert document["settings"]["chat"] == {"arcs_cap": 3}
    assert document["settings"]["effective"]["arcs_cap"] == 3
    assert document["mode"] == {"mode": "full", "read_only_since": None, "fresh_start": None}
    memories = {memory["id"]: memory for memory in document["memories"]}
    assert memories.keys() == {str(old.pk), str(new.pk)}
    assert str(gone.pk) not in memories
    assert memories[str(old.pk)]["superseded_by"] == str(new.pk)
    assert memories[str(old.pk)]["state"] == "superseded"
    [source] = memories[str(old.pk)]["sources"]
    assert (source["message"], source["index"], source["lost"]) == (str(message.pk), 0, False)
    assert document["arcs"][0]["text"] == "Why did she move?"
    [state] = document["ledger"]
    assert [entry["value"] for entry in state["entries"]] == ["Lyon", "Paris"]
    assert document["knowledge"][0]["target"] == "Alice"
    assert document["relationships"][0]["descriptors"][0]["word"] == "loyal"
    assert [digest["kind"] for digest in document["digests"]] == ["summary"]
    assert {entity["name"] for entity in document["entities"]} >= {"Alice", "Tom"}


def test_what_a_run_made_is_in_it(alice: APIClient, chat: Chat) -> None:
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    document = exported(alice, chat)
    assert document["memories"]
    assert all(memory["sources"] for memory in document["memories"])


def test_an_empty_chat_has_an_empty_export(alice: APIClient) -> None:
    document = exported(alice, make_chat(alice.user))
    assert document["character"] is None
    assert all(document[layer] == [] for layer in ("memories", "arcs", "ledger", "knowledge", "digests"))


def test_it_is_ones_own(charlie: APIClient, chat: Chat) -> None:
    assert charlie.get(f"/api/v1/chats/{chat.pk}/memory-export/").status_code == 404


@pytest.mark.parametrize("count", [1, 30])
def test_its_cost_does_not_grow_with_what_is_remembered(
    alice: APIClient, chat: Chat, count: int, django_assert_max_num_queries: Any
) -> None:
    for number in range(count):
        make_memory(chat, f"Memory number {number}.")
    with django_assert_max_num_queries(45):
        exported(alice, chat)
