"""End users of an application within an account: what is of one namespace is nowhere in another."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from apps.chats.models import Chat
from apps.memories.models import Memory

API = "/api/v1"


def post(client: APIClient, path: str, body: dict[str, Any], status: int = 201) -> Any:
    response = client.post(f"{API}/{path}", body)
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def texts(client: APIClient, **query: Any) -> list[str]:
    reply = client.get(f"{API}/memories/", query)
    assert reply.status_code == 200, reply.content
    return sorted(memory["text"] for memory in reply.json()["results"])


@pytest.fixture
def places(alice: APIClient) -> dict[str, Any]:
    """A character and a chat in each of two namespaces, with a memory that says whose it is."""
    made: dict[str, Any] = {}
    for name in ("ann", "bob"):
        character = post(alice, "characters/", {"name": "Cook", "namespace": name})
        chat = post(alice, "chats/", {"character": character["id"]})
        assert chat["namespace"] == name
        memory = post(alice, "memories/", {"text": f"{name} keeps bees.", "chat": chat["id"]})
        assert memory["namespace"] == name
        made[name] = {"character": character["id"], "chat": chat["id"], "memory": memory["id"]}
    post(alice, "memories/", {"text": "I keep bees."})
    return made


def test_lists_and_searches_are_of_one_namespace(alice: APIClient, places: dict[str, Any]) -> None:
    assert texts(alice) == ["I keep bees."]
    assert texts(alice, namespace="ann") == ["ann keeps bees."]
    assert texts(alice, chat=places["bob"]["chat"]) == ["bob keeps bees."]
    for path in ("chats/", "characters/"):
        assert alice.get(f"{API}/{path}").json()["results"] == []
        assert len(alice.get(f"{API}/{path}", {"namespace": "ann"}).json()["results"]) == 1
    for body, expected in (
        ({}, ["I keep bees."]),
        ({"namespace": "ann"}, ["ann keeps bees."]),
        ({"character": places["bob"]["character"]}, ["bob keeps bees."]),
        ({"chat": places["ann"]["chat"]}, ["ann keeps bees."]),
    ):
        found = post(alice, "memories/search/", {"query": "bees", "tiers": ["long_term"], **body}, 200)["results"]
        assert [one["memory"]["text"] for one in found] == expected
    both = {"query": "bees", "chat": places["ann"]["chat"], "character": places["bob"]["character"]}
    assert alice.post(f"{API}/memories/search/", both).status_code == 400


def test_nothing_refers_to_another_namespace(alice: APIClient, places: dict[str, Any]) -> None:
    ann, bob = places["ann"], places["bob"]
    post(alice, f"chats/{ann['chat']}/append/", {"force": True, "message": {"mes": "I keep bees."}})
    (message,) = alice.get(f"{API}/chats/{ann['chat']}/messages/").json()["results"]
    chat = alice.get(f"{API}/chats/{ann['chat']}/").json()
    for method, path, body in (
        ("post", "chats/", {"character": ann["character"], "namespace": "bob"}),
        ("patch", f"chats/{ann['chat']}/", {"character": bob["character"], "integrity": chat["integrity"]}),
        ("post", "memories/", {"text": "Mixed.", "chat": ann["chat"], "character": bob["character"]}),
        ("post", "memories/", {"text": "Mixed.", "chat": ann["chat"], "namespace": "bob"}),
        ("post", "memories/", {"text": "Mixed.", "chat": bob["chat"], "source_messages": [message["id"]]}),
        ("post", "memories/", {"text": "Mixed.", "source_messages": [message["id"]]}),
        ("post", f"chats/{ann['chat']}/participants/", {"name": "Cook", "character": bob["character"]}),
        ("patch", f"characters/{ann['character']}/", {"namespace": "bob"}),
        ("post", "memories/merge/", {"memories": [ann["memory"], bob["memory"]], "text": "Both keep bees."}),
    ):
        reply = getattr(alice, method)(f"{API}/{path}", body)
        assert reply.status_code == 400, (path, reply.content)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("column", ["character_id", "namespace"])
def test_the_database_keeps_them_apart(alice: APIClient, places: dict[str, Any], column: str) -> None:
    value = places["bob"]["character"] if column == "character_id" else "bob"
    for model in (Chat, Memory):
        rows = model.objects.for_owner(alice.user).in_namespace("ann")
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**{column: value})


@pytest.mark.django_db(transaction=True)
def test_a_namespace_is_listed_exported_and_erased(
    alice: APIClient, charlie: APIClient, places: dict[str, Any]
) -> None:
    listed = alice.get(f"{API}/namespaces/").json()["results"]
    assert [(one["namespace"], one["memories"], one["chats"], one["characters"]) for one in listed] == [
        ("ann", 1, 1, 1),
        ("bob", 1, 1, 1),
    ]
    page = alice.get(f"{API}/namespaces/?limit=1").json()
    assert [one["namespace"] for one in alice.get(page["next"]).json()["results"]] == ["bob"]
    exported = alice.get(f"{API}/namespaces/export/?namespace=ann")
    rows = [json.loads(line) for line in exported.getvalue().splitlines()]
    assert {"chats.Chat", "chats.Character", "memories.Memory"} <= {row["table"] for row in rows}
    assert "bob keeps" not in exported.getvalue().decode()
    assert charlie.get(f"{API}/namespaces/").json()["results"] == []
    assert charlie.get(f"{API}/namespaces/export/?namespace=ann").status_code == 404
    assert charlie.delete(f"{API}/namespaces/?namespace=ann").status_code == 404

    assert alice.delete(f"{API}/namespaces/?namespace=ann").status_code == 204
    assert Memory.with_bin.for_owner(alice.user).in_namespace("ann").count() == 0
    assert [one["namespace"] for one in alice.get(f"{API}/namespaces/").json()["results"]] == ["bob"]
    assert alice.delete(f"{API}/namespaces/?namespace=ann").status_code == 404
    assert alice.delete(f"{API}/namespaces/?namespace=").status_code == 400
    assert texts(alice) == ["I keep bees."]
