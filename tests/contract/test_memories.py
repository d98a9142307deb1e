"""Memories and runs over HTTP, as api.md has them."""

import uuid
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.memories import pipeline
from apps.memories.models import Memory
from tests.contract.conftest import client_of

MEMORY_FIELDS = set(
    "id tier kind text importance confidence unconfirmed entities source_messages valid_from valid_to supersedes "
    "superseded_by source_instance participating_instances pinned hidden edited_by version embedding_model created_at "
    "updated_at".split()
)
RUN_FIELDS = set("id chat state stage done total counts error started_at finished_at llm".split())
STORY = [
    "I live in a small flat in Paris, above a bakery, with my brother Tom.",
    "My sister Anna is married to a doctor from Lisbon.",
    "I moved to Lyon on the third of May, and Tom stayed behind.",
]


@pytest.fixture
def story(alice: APIClient) -> dict[str, Any]:
    """A chat of Alice's in which she moves, gone through by a run."""
    mira = alice.post("/api/v1/characters/", {"name": "Mira"}).json()
    chat = alice.post("/api/v1/chats/", {"character": mira["id"], "user_name": "Alice"}).json()
    messages = [{"name": "Alice", "is_user": True, "mes": text} for text in STORY]
    alice.post(f"/api/v1/chats/{chat['id']}/append/", {"integrity": chat["integrity"], "messages": messages})
    run = extract(alice, chat)
    assert (run["state"], run["error"]) == ("succeeded", "")
    return chat | {"run": run["id"]}


def extract(client: APIClient, chat: dict[str, Any], **body: Any) -> dict[str, Any]:
    """Start a run, do what the worker does, and return the run as it stands then."""
    reply = client.post(f"/api/v1/chats/{chat['id']}/extract/", body)
    assert reply.status_code == 202, reply.content
    run = reply.json()["run"]
    pipeline.execute(uuid.UUID(run["id"]))
    return client.get(f"/api/v1/runs/{run['id']}/").json()


def listed(client: APIClient, **query: Any) -> list[dict[str, Any]]:
    reply = client.get("/api/v1/memories/", query)
    assert reply.status_code == 200, reply.content
    return reply.json()["results"]


def texts(memories: list[dict[str, Any]]) -> str:
    return " ".join(memory["text"] for memory in memories)


def test_a_run_is_started_once_and_tells_how_it_went(alice: APIClient, chat: dict[str, Any]) -> None:
    url = f"/api/v1/chats/{chat['id']}/extract/"
    first = alice.post(url, {})
    assert first.status_code == 202
    run = first.json()["run"]
    assert set(run) >= RUN_FIELDS
    assert run["state"] == "queued"
    again = alice.post(url, {})
    assert (again.status_code, again.json()["run"]["id"]) == (200, run["id"])
    pipeline.execute(uuid.UUID(run["id"]))
    done = alice.get(f"/api/v1/runs/{run['id']}/").json()
    assert (done["state"], done["done"], done["chat"]) == ("succeeded", done["total"], chat["id"])
    assert set(done["counts"]) == {"passed", "superseded", "reconfirmed", "rejected", "merged"}
    assert set(done["llm"]) == {"calls", "prompt_tokens", "completion_tokens"}
    assert done["finished_at"]


def test_a_run_is_cancelled(alice: APIClient, chat: dict[str, Any]) -> None:
    run = alice.post(f"/api/v1/chats/{chat['id']}/extract/", {"tiers": ["session"], "from": 0}).json()["run"]
    reply = alice.post(f"/api/v1/runs/{run['id']}/cancel/")
    assert (reply.status_code, reply.json()["state"]) == (200, "cancelled")
    pipeline.execute(uuid.UUID(run["id"]))
    assert alice.get(f"/api/v1/runs/{run['id']}/").json()["state"] == "cancelled"
    assert listed(alice) == []


def test_memories_carry_where_they_came_from(alice: APIClient, story: dict[str, Any]) -> None:
    messages = alice.get(f"/api/v1/chats/{story['id']}/messages/").json()["results"]
    found = listed(alice, chat=story["id"])
    assert found
    for memory in found:
        assert set(memory) >= MEMORY_FIELDS
        [source] = memory["source_messages"]
        assert source in [message["id"] for message in messages]
        assert memory["valid_from"] == source


def test_the_list_is_filtered(alice: APIClient, story: dict[str, Any]) -> None:
    assert {memory["tier"] for memory in listed(alice, tier="session")} == {"session"}
    assert {memory["kind"] for memory in listed(alice, kind="event")} <= {"event"}
    assert {memory["state"] for memory in listed(alice, state="superseded")} == {"superseded"}
    assert "Anna" in texts(listed(alice, entity="anna"))
    assert listed(alice, character=str(uuid.uuid4())) == []
    assert listed(alice, tier="journal") == []


def test_what_was_replaced_is_linked_and_the_past_can_be_asked_for(alice: APIClient, story: dict[str, Any]) -> None:
    [old] = listed(alice, tier="long_term", state="superseded")
    new = alice.get(f"/api/v1/memories/{old['superseded_by']}/").json()
    assert "Paris" in old["text"]
    assert "Lyon" in new["text"]
    assert new["supersedes"] == [old["id"]]
    assert old["valid_to"] == new["valid_from"]
    before = listed(alice, chat=story["id"], tier="long_term", at=1)
    after = listed(alice, chat=story["id"], tier="long_term", at=2)
    assert "Paris" in texts(before)
    assert "Lyon" not in texts(before)
    assert "Paris" not in texts(after)
    assert "Lyon" in texts(after)


def test_a_person_writes_corrects_and_deletes(alice: APIClient, story: dict[str, Any]) -> None:
    body = {"text": "Alice is allergic to nuts.", "tier": "long_term", "kind": "fact", "chat": story["id"]}
    made = alice.post("/api/v1/memories/", body)
    assert made.status_code == 201
    url = f"/api/v1/memories/{made.json()['id']}/"
    assert (made.json()["version"], made.json()["edited_by"]) == (1, "alice@example.com")
    changed = alice.patch(url, {"text": "Alice is allergic to fish.", "pinned": True}).json()
    assert (changed["text"], changed["version"], changed["pinned"]) == ("Alice is allergic to fish.", 2, True)
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404
    assert alice.patch(url, {"pinned": True}).status_code == 404
    assert Memory.objects.for_owner(alice.user).filter(pk=made.json()["id"]).exists()


def test_what_was_deleted_does_not_come_back(alice: APIClient, story: dict[str, Any]) -> None:
    for memory in listed(alice):
        alice.delete(f"/api/v1/memories/{memory['id']}/")
    extract(alice, story, **{"from": 0})
    assert listed(alice) == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": ""}, "/text"),
        ({"text": 7}, "/text"),
        ({"text": "x\x00y"}, "/text"),
        ({"text": "x", "tier": "dreams"}, "/tier"),
        ({"text": "x", "importance": 4}, "/importance"),
        ({"text": "x", "tier": "session"}, "/chat"),
        ({"text": "x", "chat": str(uuid.uuid4())}, "/chat"),
        ({"text": "x", "colour": "red"}, "/colour"),
    ],
)
def test_bad_memories_are_refused_by_name(alice: APIClient, body: dict[str, Any], pointer: str) -> None:
    reply = alice.post("/api/v1/memories/", body)
    assert reply.status_code == 400
    assert reply["Content-Type"] == "application/problem+json"
    assert pointer in [error["pointer"] for error in reply.json()["errors"]]
    assert listed(alice) == []


@pytest.mark.parametrize("query", ["chat=x", "tier=dreams", "state=gone", "at=-1", "at=3", "at=x&chat=1", "entity=%00"])
def test_bad_filters_are_refused(alice: APIClient, query: str) -> None:
    reply = alice.get(f"/api/v1/memories/?{query}")
    assert reply.status_code == 400
    assert reply["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("body", [{"tiers": ["dreams"]}, {"tiers": []}, {"from": -1}, {"from": "x"}, {"until": 3}])
def test_bad_runs_are_refused(alice: APIClient, chat: dict[str, Any], body: dict[str, Any]) -> None:
    assert alice.post(f"/api/v1/chats/{chat['id']}/extract/", body).status_code == 400


def test_a_stranger_finds_and_changes_nothing(alice: APIClient, charlie: APIClient, story: dict[str, Any]) -> None:
    memory = listed(alice)[0]
    assert listed(charlie) == []
    assert listed(charlie, chat=story["id"]) == []
    url = f"/api/v1/memories/{memory['id']}/"
    assert [charlie.get(url).status_code, charlie.patch(url, {"pinned": True}).status_code] == [404, 404]
    assert charlie.delete(url).status_code == 404
    assert charlie.post(f"/api/v1/chats/{story['id']}/extract/", {}).status_code == 404
    assert charlie.get(f"/api/v1/runs/{story['run']}/").status_code == 404
    assert charlie.post(f"/api/v1/runs/{story['run']}/cancel/").status_code == 404
    assert charlie.post("/api/v1/memories/", {"text": "x", "chat": story["id"]}).status_code == 400


def test_a_token_that_only_reads_does_not_write(alice: APIClient, story: dict[str, Any]) -> None:
    reader = client_of(alice.user, scope="read")
    assert listed(reader)
    assert reader.post("/api/v1/memories/", {"text": "x"}).status_code == 403
    assert reader.post(f"/api/v1/chats/{story['id']}/extract/", {}).status_code == 403
