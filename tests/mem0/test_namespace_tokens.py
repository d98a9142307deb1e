"""A token that is bound to a namespace sees one end user of the account, and nothing else by any route."""

from typing import Any

import pytest
from django.urls import get_resolver
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import append_messages, create_chat
from apps.search.indexing import index_messages
from tests.factories import UserFactory, parsed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner() -> User:
    return UserFactory()


def client_with(owner: User, namespace: str = "") -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Bearer " + create_token(owner, name="t", namespace=namespace)[1])
    return client


def remember(api: APIClient, text: str, **fields: Any) -> dict[str, Any]:
    body = {"text": text, "tier": "long_term", "kind": "fact", **fields}
    response = api.post("/api/v1/memories/", body, format="json")
    assert response.status_code == 201, response.data
    return dict(response.data)


@pytest.fixture
def api(owner: User) -> APIClient:
    return client_with(owner)


@pytest.fixture
def ann(owner: User) -> APIClient:
    return client_with(owner, "ann")


def texts(response: Any) -> list[str]:
    return [memory["text"] for memory in response.json()["results"]]


def test_it_sees_and_writes_its_own_memories_alone(api: APIClient, ann: APIClient) -> None:
    bobs = remember(api, "Bob likes tea.", namespace="bob")
    mine = remember(api, "I like water.")
    own = remember(ann, "Ann likes coffee.")
    assert own["namespace"] == "ann"
    assert texts(ann.get("/api/v1/memories/")) == ["Ann likes coffee."]
    found = ann.post("/api/v1/memories/search/", {"query": "who likes what?"}, format="json").json()["results"]
    assert [result["memory"]["text"] for result in found] == ["Ann likes coffee."]
    for other in (bobs, mine):
        url = f"/api/v1/memories/{other['id']}/"
        assert ann.get(url).status_code == 404
        assert ann.patch(url, {"text": "x"}, format="json").status_code == 404
        assert ann.delete(url).status_code == 404
        assert ann.get(f"{url}history/").status_code == 404
        batch = {"update": [{"id": other["id"], "text": "x"}], "delete": []}
        assert ann.post("/api/v1/memories/batch/", batch, format="json").status_code == 404
        batch = {"update": [], "delete": [own["id"], other["id"]]}
        assert ann.post("/api/v1/memories/batch/", batch, format="json").status_code == 404
        merge = {"memories": [own["id"], other["id"]], "text": "x"}
        assert 400 <= ann.post("/api/v1/memories/merge/", merge, format="json").status_code < 500
    assert ann.patch(f"/api/v1/memories/{own['id']}/", {"text": "Ann likes cocoa."}, format="json").status_code == 200
    for named in ("bob", "Ann"):
        assert ann.get("/api/v1/memories/", {"namespace": named}).status_code == 400
        query = {"query": "tea", "namespace": named}
        assert ann.post("/api/v1/memories/search/", query, format="json").status_code == 400
        body = {"text": "x", "tier": "long_term", "kind": "fact", "namespace": named}
        assert ann.post("/api/v1/memories/", body, format="json").status_code == 400


def test_chats_and_characters_of_others_are_no_way_in(api: APIClient, ann: APIClient) -> None:
    character = api.post("/api/v1/characters/", {"name": "Mira"}, format="json").json()["id"]
    chat = api.post("/api/v1/chats/", {"title": "Mine", "character": character}, format="json").json()["id"]
    remember(api, "Mira knows the way.", character=character)
    for place in ({"chat": chat}, {"character": character}):
        assert texts(ann.get("/api/v1/memories/", place)) == []
        search = ann.post("/api/v1/memories/search/", {"query": "way", **place}, format="json")
        assert search.status_code in (400, 404)
        body = {"text": "x", "tier": "long_term", "kind": "fact", **place}
        assert ann.post("/api/v1/memories/", body, format="json").status_code in (400, 404)


def test_mem0_has_one_user(api: APIClient, ann: APIClient) -> None:
    def add(client: APIClient, text: str, **ids: str) -> Any:
        body = {"messages": [{"role": "user", "content": text}], "infer": False, **ids}
        return client.post("/mem0/v3/memories/add/", body, format="json")

    bobs = add(api, "Bob cooks.", user_id="bob", agent_id="cook").json()
    own = add(ann, "Ann bakes.").json()
    assert add(ann, "x", user_id="bob").status_code == 400
    every = {"filters": {"user_id": "*"}}
    assert [one["memory"] for one in ann.post("/mem0/v2/memories/", every, format="json").json()] == ["Ann bakes."]
    others = {"filters": {"OR": [{"user_id": "bob"}, {"agent_id": "cook"}]}}
    assert ann.post("/mem0/v2/memories/", others, format="json").json() == []
    found = ann.post("/mem0/v3/memories/search/", {"query": "who cooks?", **every}, format="json").json()["results"]
    assert [one["memory"] for one in found] == ["Ann bakes."]
    (memory,) = bobs["results"]
    assert ann.get(f"/mem0/v1/memories/{memory['id']}/").status_code == 404
    assert ann.put(f"/mem0/v1/memories/{memory['id']}/", {"text": "x"}, format="json").status_code == 404
    assert ann.delete(f"/mem0/v1/memories/{memory['id']}/").status_code == 404
    assert ann.get(f"/mem0/v1/event/{bobs['event_id']}/").status_code == 404
    assert ann.get(f"/mem0/v1/event/{own['event_id']}/").status_code == 200
    batch = {"memories": [{"memory_id": memory["id"]}]}
    assert ann.delete("/mem0/v1/batch/", batch, format="json").status_code == 404
    assert {row["name"] for row in ann.get("/mem0/v1/entities/").json()["results"]} == {"ann"}
    assert ann.delete("/mem0/v2/entities/user/bob/").status_code == 404
    assert ann.delete("/mem0/v2/entities/agent/cook/").status_code == 200
    assert ann.delete("/mem0/v1/memories/", QUERY_STRING="user_id=bob").status_code == 400
    assert api.get(f"/mem0/v1/memories/{memory['id']}/").status_code == 200


def test_every_other_route_refuses_it(ann: APIClient) -> None:
    """Walk over all routes of the API: what doesn't keep to the namespace is forbidden."""
    kept = set()
    for prefix, pattern in walk(get_resolver().url_patterns):
        if not prefix.startswith("api/v1/"):
            continue
        view = getattr(pattern.callback, "cls", None)
        path = "/" + fill(prefix)
        status = ann.get(path).status_code
        if getattr(view, "keeps_to_namespace", False):
            kept.add(prefix)
        else:
            assert status == 403, (path, status)
    assert len(kept) < 15
    assert ann.post("/v1/chat/completions", {}, format="json").status_code == 403
    assert ann.get("/v1/models").status_code == 403


def walk(patterns: Any, prefix: str = "") -> Any:
    for pattern in patterns:
        here = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from walk(pattern.url_patterns, here)
        else:
            yield here, pattern


def fill(prefix: str) -> str:
    import re

    values = {"uuid": "00000000-0000-7000-8000-000000000000", "int": "1", "str": "x", "slug": "x", "path": "x"}
    return re.sub(r"<(?:(\w+):)?\w+>", lambda found: values.get(found[1] or "str", "x"), prefix)


def test_one_namespace_is_exported_and_erased(api: APIClient, ann: APIClient) -> None:
    remember(api, "Bob likes tea.", namespace="bob")
    own = remember(ann, "Ann likes coffee.", tags=["drink"])
    chat = api.post("/api/v1/chats/", {"title": "Ann's", "namespace": "ann"}, format="json").json()
    message = {"integrity": chat["integrity"], "messages": [{"name": "Ann", "is_user": True, "mes": "Good morning."}]}
    assert api.post(f"/api/v1/chats/{chat['id']}/append/", message, format="json").status_code == 201
    for client in (api, ann):
        response = client.get("/api/v1/namespaces/export/", {"namespace": "ann"})
        assert response.status_code == 200
        exported = b"".join(response.streaming_content).decode()
        assert own["id"] in exported
        assert "Good morning." in exported
        assert "Bob" not in exported
    assert [row["namespace"] for row in ann.get("/api/v1/namespaces/").json()["results"]] == ["ann"]
    assert ann.get("/api/v1/namespaces/export/", {"namespace": "bob"}).status_code == 404
    assert ann.delete("/api/v1/namespaces/", QUERY_STRING="namespace=bob").status_code == 404
    assert api.get("/api/v1/namespaces/export/", {"namespace": "carol"}).status_code == 404
    assert ann.delete("/api/v1/namespaces/", QUERY_STRING="namespace=ann").status_code == 204
    assert [row["namespace"] for row in api.get("/api/v1/namespaces/").json()["results"]] == ["bob"]


def test_no_score_tells_which_words_others_have(owner: User, api: APIClient, ann: APIClient) -> None:
    """How common a word is, is told by what the end user has: the words of others count as those that nobody has."""
    for name, secret in (("bob", "pregnant"), ("ann", "tired")):
        chat = create_chat(owner, title=name, namespace=name)
        append_messages(owner, chat.pk, [parsed(f"I keep bees and am {secret}.", is_user=True)])
        index_messages(owner, chat)
        remember(api, f"{name} keeps bees and is {secret}.", namespace=name)

    def scores(query: str, preset: str) -> list[float]:
        body = {"query": query, "preset": preset, "tiers": ["long_term", "messages"]}
        found = ann.post("/api/v1/memories/search/", body, format="json").json()["results"]
        return sorted(result["signals"]["lexical"] for result in found)

    for preset in ("bm25", "default"):
        absent = scores("bees divorced", preset)
        assert len(absent) == 2
        assert all(score > 0.3 for score in absent)
        assert scores("bees pregnant", preset) == absent
    remember(ann, "Ann is ill.")
    filters: list[dict[str, Any]] = [{}, {"user_id": "*"}, {"user_id": "ann"}]
    bodies = [{"query": "bees, tired or ill?", "filters": given, "threshold": 0} for given in filters]

    def mem0_scores() -> list[list[float]]:
        replies = [ann.post("/mem0/v3/memories/search/", body, format="json").json() for body in bodies]
        return [[result["score"] for result in reply["results"]] for reply in replies]

    before = mem0_scores()
    assert all(len(each) == 2 for each in before)
    for number in range(5):
        remember(api, f"Bob is ill, for the {number}th time.", namespace="bob")
    assert mem0_scores() == [pytest.approx(each, abs=1e-6) for each in before]
