"""Memories and the journal through both clients, and what is absent."""

from typing import Any

import pytest
from loci_client import Invalid

from apps.accounts.models import User
from tests.clients.conftest import plain_call
from tests.factories import UserFactory, make_chat, make_memory

pytestmark = pytest.mark.django_db(transaction=True)


@plain_call
def test_memories_are_stored_listed_corrected_and_deleted(client: Any) -> None:
    tea = client.create_memory("Alice drinks tea.", fields={"tags": ["food"], "metadata": {"cups": 3}})
    client.create_memory("Alice sails.", kind="event")
    assert (tea["kind"], tea["tier"], tea["tags"]) == ("fact", "long_term", ["food"])
    assert [memory["text"] for memory in client.list_memories()] == ["Alice sails.", "Alice drinks tea."]
    assert [memory["id"] for memory in client.list_memories(filter={"metadata.cups": {"gte": 3}})] == [tea["id"]]
    assert client.update_memory(tea["id"], text="Alice drinks coffee.")["version"] == 2
    assert client.get_memory(tea["id"])["text"] == "Alice drinks coffee."
    assert [event["event"] for event in client.memory_history(tea["id"])] == ["added", "corrected"]
    for _ in range(2):
        assert client.delete_memory(tea["id"]) is None
    assert client.get_memory(tea["id"]) is None
    with pytest.raises(Invalid):
        client.create_memory(" ")
    with pytest.raises(Invalid):
        client.list_memories(filter={"colour": "red"})


@plain_call
def test_a_long_list_is_read_page_by_page(client: Any, alice: User) -> None:
    chat = make_chat(alice, "Hello.")
    for number in range(201):
        make_memory(chat, f"Fact {number}.")
    assert len(client.list_memories(chat=str(chat.pk))) == 201


@plain_call
def test_a_memory_of_somebody_else_is_none(client: Any) -> None:
    other = make_memory(make_chat(UserFactory(), "Hello."), "A secret.")
    assert client.get_memory(str(other.pk)) is None
    assert client.delete_memory(str(other.pk)) is None
    other.refresh_from_db()
    assert other.deleted_at is None


@plain_call
def test_the_journal_is_written_read_corrected_and_deleted(client: Any) -> None:
    entry = client.write_entry("- The key was found.", period="2026-11-26")
    merged = client.write_entry("- The boat was sold.", period="2026-11-26")
    assert entry["id"] == merged["id"]
    assert merged["text"].count("\n") == 1
    assert [found["id"] for found in client.list_journal(granularity="daily")] == [entry["id"]]
    assert client.list_journal(start="2026-11-27", end="2026-11-28") == []
    assert client.update_entry(entry["id"], text="- The key is lost.")["text"] == "- The key is lost."
    assert client.get_entry(entry["id"])["period"] == "2026-11-26"
    assert client.consolidate_journal(granularity="weekly")
    for _ in range(2):
        assert client.delete_entry(entry["id"]) is None
    assert client.get_entry(entry["id"]) is None
