"""Memories and runs over HTTP, as the contract has them."""

import uuid
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.chats.models import Chat, Message
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.models import Entity, Memory
from tests.factories import make_character, make_chat, make_memory

URL = "/api/v1/memories/"
NOBODY = "00000000-0000-7000-8000-000000000000"
MEMORY_FIELDS = set(
    "id tier kind text importance confidence unconfirmed entities source_messages valid_from valid_to supersedes "
    "superseded_by source_instance participating_instances pinned hidden edited_by version embedding_model created_at "
    "updated_at".split()
)
RUN_FIELDS = set(
    "id chat state stage tiers backend model done total counts error started_at finished_at llm "
    "waits_for wait_until estimate place".split()
)
STORY = [
    "*Alice moved to Paris in March with her brother Tom.*",
    "Hm.",
    "*Alice left Paris in May and moved to Lyon without her brother Tom.*",
    "Ah.",
]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: found.append(run_id))
    return found


def chat_of(client: APIClient, *texts: str, character: str = "") -> Chat:
    owner = client.user
    return make_chat(owner, *texts, character=make_character(owner, character) if character else None)


def listed(client: APIClient, **filters: Any) -> set[str]:
    reply = client.get(URL, filters)
    assert reply.status_code == 200, reply.content
    return {memory["text"] for memory in reply.json()["results"]}


def pointers(reply: Any) -> list[str]:
    assert reply.status_code == 400, reply.content
    assert reply["Content-Type"] == "application/problem+json"
    return [error["pointer"] for error in reply.json()["errors"]]


def message(chat: Chat, index: int) -> Message:
    return chat.messages.get(index=index)


def test_a_memory_is_written_down_read_and_listed(alice: APIClient) -> None:
    chat = chat_of(alice, *STORY, character="Mira")
    body = {
        "text": "Tom lives in Paris.",
        "tier": "long_term",
        "kind": "fact",
        "importance": 3,
        "chat": str(chat.pk),
        "source_messages": [str(message(chat, 0).pk)],
    }
    created = alice.post(URL, body)
    assert created.status_code == 201
    memory = created.json()
    assert set(memory) >= MEMORY_FIELDS
    assert {name: memory[name] for name in body} == body
    assert memory["valid_from"] == str(message(chat, 0).pk)
    assert (memory["character"], memory["state"]) == (str(chat.character_id), "active")
    assert (memory["confidence"], memory["version"]) == (1.0, 1)
    assert memory["edited_by"] == "alice@example.com"
    assert memory["embedding_model"]
    assert alice.get(f"{URL}{memory['id']}/").json() == memory
    page = alice.get(URL).json()
    assert set(page) == {"next", "previous", "results"}
    assert page["results"] == [memory]


def test_the_list_is_filtered(alice: APIClient) -> None:
    chat, other = chat_of(alice, character="Mira"), chat_of(alice, character="Tom")
    one = make_memory(chat, "one")
    make_memory(chat, "two", tier="session", kind="scene", state="superseded")
    make_memory(other, "three", kind="event", state="retired")
    make_memory(other, "gone", deleted_at=chat.created_at)
    for name in ("Anna", "Port Salt"):
        one.entities.add(Entity.objects.create(owner=alice.user, character=chat.character, name=name))
    assert listed(alice) == {"one", "two"}  # what is retired came from texts that are gone
    assert listed(alice, chat=chat.pk) == {"one", "two"}
    assert listed(alice, character=other.character_id) == set()
    assert listed(alice, character=other.character_id, state="retired") == {"three"}
    assert listed(alice, tier="session") == {"two"}
    assert listed(alice, tier="journal") == set()
    assert listed(alice, kind="event", state="retired") == {"three"}
    assert listed(alice, state="active") == {"one"}
    assert listed(alice, state="retired") == {"three"}
    assert listed(alice, entity="port salt") == {"one"}
    assert listed(alice, entity="Nobody") == set()
    assert listed(alice, chat=chat.pk, kind="event") == set()


def test_at_gives_the_memories_as_they_stood_at_a_message(alice: APIClient) -> None:
    chat, elsewhere = chat_of(alice, *STORY, character="Mira"), chat_of(alice, "I moved to Rome.")
    new = make_memory(chat, "in Lyon", valid_from=message(chat, 2))
    make_memory(
        chat,
        "in Paris",
        valid_from=message(chat, 0),
        valid_to=message(chat, 2),
        state="superseded",
        superseded_by=new,
    )
    make_memory(chat, "always")
    make_memory(
        chat,
        "until another chat",
        valid_from=message(chat, 1),
        valid_to=message(elsewhere, 0),
        state="superseded",
        superseded_by=new,
    )
    assert listed(alice, chat=chat.pk, at=0) == {"in Paris", "always"}
    assert listed(alice, chat=chat.pk, at=1) == {"in Paris", "always", "until another chat"}
    assert listed(alice, chat=chat.pk, at=2) == {"in Lyon", "always", "until another chat"}


def test_the_list_pages_by_cursor_without_losing_any(alice: APIClient) -> None:
    chat = chat_of(alice)
    texts = {make_memory(chat, str(n)).text for n in range(7)}
    first = alice.get(URL, {"limit": 4}).json()
    second = alice.get(first["next"]).json()
    assert second["next"] is None
    assert {memory["text"] for page in (first, second) for memory in page["results"]} == texts


def test_a_correction_overwrites_and_is_signed(alice: APIClient) -> None:
    memory = make_memory(chat_of(alice), "Tom lives in Paris.")
    changed = alice.patch(f"{URL}{memory.pk}/", {"text": "Tom lives in Rome.", "importance": 1, "kind": "event"}).json()
    assert (changed["text"], changed["importance"], changed["kind"]) == ("Tom lives in Rome.", 1, "event")
    assert (changed["version"], changed["edited_by"]) == (2, "alice@example.com")
    again = alice.patch(f"{URL}{memory.pk}/", {"pinned": True, "hidden": True}).json()
    assert (again["version"], again["pinned"], again["hidden"]) == (3, True, True)
    assert again["text"] == "Tom lives in Rome."


def test_a_corrected_text_is_found_by_its_new_words(alice: APIClient) -> None:
    memory = make_memory(chat_of(alice), "Tom lives in Paris.")
    alice.patch(f"{URL}{memory.pk}/", {"text": "The submarine is painted yellow."})
    found = alice.post(f"{URL}search/", {"query": "yellow submarine", "tiers": ["long_term"]}).json()["results"]
    assert [result["memory"]["id"] for result in found] == [str(memory.pk)]


def test_what_a_run_replaced_meanwhile_a_correction_does_not_bring_back(alice: APIClient) -> None:
    from apps.memories.operations import edit_memory

    chat = chat_of(alice)
    stale = make_memory(chat, "Tom lives in Paris.")
    successor = make_memory(chat, "Tom lives in Rome.")
    Memory.objects.for_owner(alice.user).filter(pk=stale.pk).update(state="superseded", superseded_by=successor)
    edit_memory(stale, editor="alice@example.com", text="Tom lived in Paris.")
    shown = alice.get(f"{URL}{stale.pk}/").json()
    assert (shown["text"], shown["state"], shown["superseded_by"]) == (
        "Tom lived in Paris.",
        "superseded",
        str(successor.pk),
    )


def test_a_deleted_memory_is_gone_and_not_learnt_again(alice: APIClient, sent: list[str]) -> None:
    chat = chat_of(alice, *STORY)
    extract(chat)
    memory = alice.get(URL, {"tier": "long_term", "state": "active"}).json()["results"][0]
    url = f"{URL}{memory['id']}/"
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404
    assert alice.patch(url, {"text": "x"}).status_code == 404
    extract(chat, from_index=0)
    assert memory["text"] not in listed(alice, tier="long_term")


def extract(chat: Chat, **options: Any) -> ExtractionRun:
    run, _ = start_run(chat.owner_id, chat, **options)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    return run


def test_what_a_run_made_is_told_whole(alice: APIClient, sent: list[str]) -> None:
    chat = chat_of(alice, *STORY, character="Mira")
    extract(chat)
    old, *_ = [item for item in alice.get(URL).json()["results"] if item["state"] == "superseded"]
    new = alice.get(f"{URL}{old['superseded_by']}/").json()
    assert new["supersedes"] == [old["id"]]
    assert old["valid_to"] == new["valid_from"] == str(message(chat, 2).pk)
    assert old["source_messages"] == [str(message(chat, 0).pk)]
    assert "Paris" in old["entities"]


def test_a_run_is_started_followed_and_ended(
    alice: APIClient, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    chat = chat_of(alice, *STORY)
    url = f"/api/v1/chats/{chat.pk}/extract/"
    with django_capture_on_commit_callbacks(execute=True):
        started = alice.post(url)
    run = started.json()["run"]
    assert started.status_code == 202
    assert set(run) == RUN_FIELDS
    assert (run["state"], run["chat"], run["done"]) == ("queued", str(chat.pk), 0)
    assert set(run["counts"]) >= {"passed", "superseded", "reconfirmed", "rejected", "merged"}
    assert set(run["llm"]) == {"calls", "prompt_tokens", "completion_tokens", "cost", "currency"}
    assert sent == [run["id"]]
    with django_capture_on_commit_callbacks(execute=True):
        again = alice.post(url, {"tiers": ["session"]})
    assert (again.status_code, again.json()["run"]["id"]) == (200, run["id"])
    assert sent == [run["id"]]
    tasks.run_extraction(run_id=run["id"])
    done = alice.get(f"/api/v1/runs/{run['id']}/").json()
    assert (done["state"], done["done"], done["total"], done["error"]) == (
        "succeeded",
        done["total"],
        done["total"],
        "",
    )
    assert done["llm"]["calls"] >= 2
    assert done["counts"]["passed"] > 0
    assert done["started_at"] <= done["finished_at"]


def test_a_run_is_narrowed_to_tiers_and_messages(alice: APIClient, sent: list[str]) -> None:
    chat = chat_of(alice, *STORY)
    reply = alice.post(f"/api/v1/chats/{chat.pk}/extract/", {"tiers": ["session"], "from": 2})
    run = ExtractionRun.objects.for_owner(alice.user).get(pk=reply.json()["run"]["id"])
    assert run.tiers == ["session"]
    assert run.first is not None
    assert run.first.index == 2


def test_a_run_is_cancelled_once(alice: APIClient, sent: list[str]) -> None:
    chat = chat_of(alice, *STORY)
    run = alice.post(f"/api/v1/chats/{chat.pk}/extract/").json()["run"]
    for _ in range(2):
        reply = alice.post(f"/api/v1/runs/{run['id']}/cancel/")
        assert (reply.status_code, reply.json()["state"]) == (200, "cancelled")
    tasks.run_extraction(run_id=run["id"])
    assert alice.get(f"/api/v1/runs/{run['id']}/").json()["done"] == 0
    assert alice.post(f"/api/v1/chats/{chat.pk}/extract/").status_code == 202


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ["/text"]),
        ({"text": ""}, ["/text"]),
        ({"text": " \n"}, ["/text"]),
        ({"text": 5}, ["/text"]),
        ({"text": "x" * 4001}, ["/text"]),
        ({"text": "x", "kind": "mood"}, ["/kind"]),
        ({"text": "x", "tier": "journal"}, ["/tier"]),
        ({"text": "x", "importance": 4}, ["/importance"]),
        ({"text": "x", "importance": "2"}, ["/importance"]),
        ({"text": "x", "tier": "session"}, ["/chat"]),
        ({"text": "x", "chat": "nonsense"}, ["/chat"]),
        ({"text": "x", "chat": NOBODY}, ["/chat"]),
        ({"text": "x", "character": NOBODY}, ["/character"]),
        ({"text": "x", "source_messages": ["nonsense"]}, ["/source_messages/0"]),
        ({"text": "x", "source_messages": [NOBODY]}, ["/source_messages/0"]),
        ({"text": "x", "colour": "red"}, ["/colour"]),
        (["x"], [""]),
    ],
)
def test_what_cannot_be_written_down_is_told_by_field(alice: APIClient, body: Any, where: list[str]) -> None:
    assert pointers(alice.post(URL, body)) == where
    assert listed(alice) == set()


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, [""]),
        ({"text": ""}, ["/text"]),
        ({"text": "\t"}, ["/text"]),
        ({"text": None}, ["/text"]),
        ({"pinned": "yes"}, ["/pinned"]),
        ({"importance": 0}, ["/importance"]),
        ({"state": "active"}, ["/state"]),
    ],
)
def test_a_correction_that_cannot_be_made_changes_nothing(alice: APIClient, body: Any, where: list[str]) -> None:
    memory = make_memory(chat_of(alice), "as it was")
    assert pointers(alice.patch(f"{URL}{memory.pk}/", body)) == where
    memory.refresh_from_db()
    assert (memory.text, memory.version) == ("as it was", 1)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"chat": "x"}, ["/chat"]),
        ({"tier": "x"}, ["/tier"]),
        ({"kind": "x"}, ["/kind"]),
        ({"state": "x"}, ["/state"]),
        ({"at": "1"}, ["/at"]),
        ({"at": "-1", "chat": NOBODY}, ["/at"]),
        ({"at": "9" * 30, "chat": NOBODY}, ["/at"]),
        ({"entity": "a\x00"}, ["/entity"]),
    ],
)
def test_a_filter_that_is_none_is_told(alice: APIClient, query: Any, where: list[str]) -> None:
    assert pointers(alice.get(URL, query)) == where


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"tiers": []}, ["/tiers"]),
        ({"tiers": ["journal"]}, ["/tiers/0"]),
        ({"tiers": "session"}, ["/tiers"]),
        ({"from": -1}, ["/from"]),
        ({"from": "0"}, ["/from"]),
        ({"to": 3}, ["/to"]),
    ],
)
def test_a_run_that_cannot_be_started_is_told_by_field(alice: APIClient, body: Any, where: list[str]) -> None:
    chat = chat_of(alice, *STORY)
    assert pointers(alice.post(f"/api/v1/chats/{chat.pk}/extract/", body)) == where
    assert not ExtractionRun.objects.for_owner(alice.user).exists()


def test_a_strangers_things_are_not_there(alice: APIClient, charlie: APIClient, sent: list[str]) -> None:
    chat = chat_of(alice, *STORY, character="Mira")
    memory = make_memory(chat, "a secret")
    run = alice.post(f"/api/v1/chats/{chat.pk}/extract/").json()["run"]
    assert listed(charlie) == listed(charlie, chat=chat.pk) == listed(charlie, character=chat.character_id) == set()
    for call in (charlie.get, charlie.delete, lambda url: charlie.patch(url, {"text": "mine"})):
        assert call(f"{URL}{memory.pk}/").status_code == 404
    assert charlie.post(f"/api/v1/chats/{chat.pk}/extract/").status_code == 404
    assert charlie.get(f"/api/v1/runs/{run['id']}/").status_code == 404
    assert charlie.post(f"/api/v1/runs/{run['id']}/cancel/").status_code == 404
    assert pointers(charlie.post(URL, {"text": "x", "chat": str(chat.pk)})) == ["/chat"]
    assert pointers(charlie.post(URL, {"text": "x", "character": str(chat.character_id)})) == ["/character"]
    body = {"text": "x", "source_messages": [str(message(chat, 0).pk)]}
    assert pointers(charlie.post(URL, body)) == ["/source_messages/0"]
    memory.refresh_from_db()
    assert (memory.text, memory.deleted_at) == ("a secret", None)
    assert alice.get(f"/api/v1/runs/{run['id']}/").json()["state"] == "queued"


def test_nobody_signed_in_gets_nothing(db: None) -> None:
    for url in (URL, f"{URL}{uuid.uuid4()}/", f"/api/v1/runs/{uuid.uuid4()}/"):
        assert APIClient().get(url).status_code == 401


def test_a_list_costs_the_same_however_long_it_is(alice: APIClient, django_assert_max_num_queries: Any) -> None:
    chat = chat_of(alice, *STORY)
    extract(chat)
    for n in range(20):
        make_memory(chat, f"memory {n}")
    with django_assert_max_num_queries(8):
        alice.get(URL)
