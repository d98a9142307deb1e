"""The graph by the API and on its page."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.chats.models import Character, Chat
from apps.extraction.models import ExtractionRun
from apps.graph import queries
from apps.memories.models import Entity, Memory, Relationship
from apps.memories.operations import delete_memory
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.relationships import set_relationship
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> APIClient:
    return client_of(UserFactory())


@pytest.fixture
def mira(api: APIClient) -> Character:
    return make_character(api.user, "Mira")


@pytest.fixture
def chat(api: APIClient, mira: Character) -> Chat:
    return make_chat(api.user, "Where is the key?", "Under the stone.", character=mira)


def remember(chat: Chat, text: str, names: Sequence[str], **fields: Any) -> Memory:
    memory = make_memory(chat, text, **fields)
    memory.entities.set([get_or_create_entity(chat, name) for name in names])
    return memory


def graph_of(api: APIClient, **query: Any) -> tuple[dict[str, int], dict[tuple[str, str, str], int]]:
    """Return weights by label, and numbers of memories by the labels of an edge's ends and its relation."""
    reply = api.get("/api/v1/graph/", query)
    assert reply.status_code == 200, reply.data
    labels = {node["id"]: node["label"] for node in reply.data["nodes"]}
    edges = {}
    for edge in reply.data["edges"]:
        ends = (labels[edge["source"]], labels[edge["target"]])
        ends = ends if edge["relation"] != "named together" else tuple(sorted(ends))
        edges[(*ends, edge["relation"])] = len(edge["memories"])
    return {node["label"]: node["weight"] for node in reply.data["nodes"]}, edges


def test_what_memories_name_is_linked_where_one_names_both(api: APIClient, chat: Chat) -> None:
    remember(chat, "Jean-Luc sold the Old Mill.", ["Jean-Luc", "Old Mill"])
    remember(chat, "Zoë lives in the Old Mill with Jean-Luc.", ["Zoë", "Old Mill", "Jean-Luc"])
    remember(chat, "The Old Mill burnt.", ["Old Mill", "Warden"], state=Memory.State.RETIRED)
    delete_memory(remember(chat, "The warden lies.", ["Warden"]))
    weights, edges = graph_of(api, chat=str(chat.pk))
    assert weights == {"Old Mill": 2, "Jean-Luc": 2, "Zoë": 1}
    together = "named together"
    assert edges == {
        ("Jean-Luc", "Old Mill", together): 2,
        ("Old Mill", "Zoë", together): 1,
        ("Jean-Luc", "Zoë", together): 1,
    }
    assert graph_of(api) == (weights, edges) == graph_of(api, character=str(chat.character_id))


def test_relationships_are_edges_with_a_direction_and_their_messages(api: APIClient, chat: Chat) -> None:
    memory = remember(chat, "Mira trusts Tom.", ["Mira", "Tom"])
    for word, magnitude in (("warm", "high"), ("wary", "low")):
        set_relationship(chat, "Mira", "Tom", word, magnitude, editor="Alice")
    _, edges = graph_of(api, chat=str(chat.pk))
    assert edges == {("Mira", "Tom", "warm, wary"): 1, ("Mira", "Tom", "named together"): 1}
    [edge] = [edge for edge in api.get("/api/v1/graph/").data["edges"] if edge["relation"] == "warm, wary"]
    assert (edge["memories"], len(edge["messages"])) == ([str(memory.pk)], 1)
    delete_memory(memory)
    assert graph_of(api) == ({"Mira": 0, "Tom": 0}, {("Mira", "Tom", "warm, wary"): 0})


@pytest.mark.parametrize(("backend", "is_shown"), [("builtin", False), ("openai", True)])
def test_a_relationship_that_was_guessed_without_a_model_is_no_edge(
    api: APIClient, chat: Chat, backend: str, is_shown: bool
) -> None:
    run = ExtractionRun.objects.create(owner=chat.owner, chat=chat, backend=backend, state="succeeded")
    ends = {"subject": get_or_create_entity(chat, "Mira"), "target": get_or_create_entity(chat, "Tom")}
    Relationship.objects.create(owner=chat.owner, chat=chat, run=run, **ends, descriptor="longing", magnitude="low")
    for query in ({}, {"chat": str(chat.pk)}, {"character": str(chat.character_id)}):
        assert bool(graph_of(api, **query)[1]) == is_shown


def test_the_graph_of_a_memory_has_what_is_named_together_with_its_names(api: APIClient, chat: Chat) -> None:
    memory = remember(chat, "Mira has a key.", ["Mira", "Key"])
    remember(chat, "The key opens the gate.", ["Key", "Gate"])
    remember(chat, "Tom fishes in the lake.", ["Tom", "Lake"])
    weights, _ = graph_of(api, memory=str(memory.pk))
    assert set(weights) == {"Mira", "Key", "Gate"}


def test_a_large_graph_is_cut_and_says_so(
    api: APIClient, chat: Chat, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        remember(chat, f"Fact {number}.", [f"Name {other}" for other in range(number, number + 3)])
    with django_assert_max_num_queries(8):
        assert api.get("/api/v1/graph/", {"chat": str(chat.pk)}).data["left_out"] == {"nodes": 0, "edges": 0}
    monkeypatch.setattr(queries, "MAX_NODES", 5)
    monkeypatch.setattr(queries, "MAX_EDGES", 3)
    cut = api.get("/api/v1/graph/").data
    assert (len(cut["nodes"]), len(cut["edges"]), cut["left_out"]["nodes"]) == (5, 3, 9)
    shown = {node["id"] for node in cut["nodes"]}
    assert all({edge["source"], edge["target"]} <= shown for edge in cut["edges"])


def test_nobody_sees_the_graph_of_another(api: APIClient, chat: Chat) -> None:
    memory = remember(chat, "Mira has a key.", ["Mira", "Key"])
    stranger = client_of(UserFactory())
    assert graph_of(stranger) == ({}, {})
    for query in ({"chat": chat.pk}, {"character": chat.character_id}, {"memory": memory.pk}):
        assert stranger.get("/api/v1/graph/", query).status_code == 404
    assert api.get("/api/v1/graph/", {"chat": "x"}).status_code == 400


@pytest.mark.parametrize("count", [0, 5, 60])
def test_the_page_shows_a_picture_and_the_same_as_lists(
    client: Client, chat: Chat, count: int, django_assert_max_num_queries: Any
) -> None:
    client.force_login(chat.owner)
    for number in range(0, count, 3):
        names = [f"Name {other}" for other in range(number, min(number + 3, count))]
        remember(chat, f"Fact {number} with a <b>tag</b>.", names)
    with django_assert_max_num_queries(20):
        page = client.get(f"/memories/chats/{chat.pk}/book/graph/").content.decode()
    assert ("Nothing to connect yet" in page) == (count == 0)
    assert page.count("<title>Name ") == count
    for entity in Entity.objects.for_owner(chat.owner_id):
        assert f'href="?name={entity.pk}#name-{entity.pk}"' in page
        assert f'<li id="name-{entity.pk}"' in page
    assert "<b>tag" not in page
    client.force_login(UserFactory())
    assert client.get(f"/memories/chats/{chat.pk}/book/graph/").status_code == 404


def test_a_chosen_name_narrows_the_page_to_what_is_connected(client: Client, chat: Chat) -> None:
    client.force_login(chat.owner)
    remember(chat, "They met.", ["Ann", "Ben"])
    remember(chat, "They fought.", ["Carl", "Dora"])
    url = f"/memories/chats/{chat.pk}/book/graph/"
    ann = Entity.objects.for_owner(chat.owner_id).get(name="Ann")
    narrowed = client.get(url, {"name": ann.pk}).context["nodes"]
    assert sorted(node["label"] for node in narrowed) == ["Ann", "Ben"]
    assert len(client.get(url, {"name": "nobody"}).context["nodes"]) == 4
