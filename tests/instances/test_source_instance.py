"""Memories know the instances whose tokens wrote the messages that they come from, and the search prefers its own."""

from typing import Any

from rest_framework.test import APIClient

from apps.chats.models import Chat, Swipe
from apps.common.scoping import system_scope
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.factories import make_memory

FLAT = "I live in a small flat in Paris, above a bakery, with my brother Tom."
SISTER = "My sister Anna is married to a doctor from Lisbon."
CLOSING = "Hello there, how are you?"


def append(client: APIClient, chat: str, *texts: str) -> None:
    messages = [{"name": "Alice", "is_user": True, "mes": text} for text in texts]
    assert client.post(f"/api/v1/chats/{chat}/append/", {"messages": messages}).status_code == 201


def new_chat(alice: APIClient) -> str:
    return alice.post("/api/v1/chats/", {"title": "Letters", "user_name": "Alice"}).json()["id"]


def extract(alice: APIClient, chat: str) -> dict[str, dict[str, Any]]:
    """Read a chat with the built-in extractor. Return its memories by their first words."""
    with system_scope():
        run, _ = start_run(alice.user, Chat.objects.get(pk=chat), tiers=["session", "long_term"])
        pipeline.execute(run.pk)
    found = alice.get(f"/api/v1/memories/?chat={chat}").json()["results"]
    return {" ".join(memory["text"].split()[:3]): memory for memory in found}


def test_memories_of_a_chat_have_the_instances_that_wrote_it(alice: APIClient) -> None:
    desk, phone = (client_of(alice.user, instance=name) for name in ("desk", "phone"))
    chat = new_chat(alice)
    append(desk, chat, FLAT)
    append(phone, chat, SISTER)
    append(alice, chat, CLOSING)  # the newest message is not read yet
    sources = {memory["source_instance"] for memory in extract(alice, chat).values()}
    assert sources == {"desk", "phone"}
    query = {
        "query": "Where in Paris does Alice live, above a bakery?",
        "chat": chat,
        "tiers": ["long_term", "session"],
    }
    signals = {
        name: client.post("/api/v1/memories/search/", query).json()["results"][0]["signals"]["instance"]
        for name, client in (("desk", desk), ("phone", phone), ("none", alice))
    }
    assert signals == {"desk": 1, "phone": 0, "none": 0}


def test_the_writer_of_a_text_follows_edits_undo_and_branches(alice: APIClient) -> None:
    desk, phone = (client_of(alice.user, instance=name) for name in ("desk", "phone"))
    chat = new_chat(alice)
    append(desk, chat, FLAT)

    def patch(client: APIClient, change: dict[str, Any]) -> None:
        integrity = client.get(f"/api/v1/chats/{chat}/").json()["integrity"]
        body = {"integrity": integrity, "patches": [{"index": 0} | change]}
        assert client.post(f"/api/v1/chats/{chat}/patch/", body).status_code == 200

    def writers(of: str = chat) -> list[str]:
        with system_scope():
            return list(Swipe.objects.filter(message__chat=of).order_by("position").values_list("instance", flat=True))

    patch(phone, {"set": {"mes": FLAT}, "extra": {"note": 1}})  # the text stays, and so does its writer
    assert writers() == ["desk"]
    patch(phone, {"set": {"mes": SISTER}})
    assert writers() == ["phone"]
    patch(desk, {"add_swipe": {"mes": FLAT}})
    assert writers() == ["phone", "desk"]
    branch = alice.post(f"/api/v1/chats/{chat}/branch/", {"at": 0}).json()["id"]
    assert writers(branch) == ["phone", "desk"]
    for client, expected in ((desk, ["phone"]), (phone, ["desk"])):
        integrity = alice.get(f"/api/v1/chats/{chat}/").json()["integrity"]
        assert client.post(f"/api/v1/chats/{chat}/undo/", {"integrity": integrity}).status_code == 200
        assert writers() == expected


def test_a_merged_memory_has_the_instances_of_its_parts(alice: APIClient) -> None:
    with system_scope():
        chat = Chat.objects.get(pk=new_chat(alice))
        desk, phone = (
            make_memory(chat, text, source_instance=name, participating_instances=[name])
            for text, name in ((FLAT, "desk"), (SISTER, "phone"))
        )
    body = {"memories": [str(desk.pk), str(phone.pk)], "text": "Both."}
    assert alice.post("/api/v1/memories/merge/", body).status_code in (200, 201)
    merged = Memory.objects.for_owner(alice.user).get(text="Both.")
    assert (merged.source_instance, merged.participating_instances) == ("phone", ["desk", "phone"])
