"""A token that is bound to a namespace sees one end user of the account, and nothing else by any route."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations import append_messages, create_chat
from apps.search.indexing import index_messages
from tests.coroutines import call_in_thread
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


def test_a_key_of_one_is_no_key_of_another(api: APIClient, ann: APIClient, owner: User) -> None:
    """Each end user's program numbers its writes from 1: it gets its own replies, and what it sends is stored."""
    for client in (ann, client_with(owner, "bob"), api):
        body = {"text": "I like tea.", "tier": "long_term", "kind": "fact"}
        first, again = (client.post("/api/v1/memories/", body, format="json", HTTP_IDEMPOTENCY_KEY="1") for _ in "12")
        assert (first.status_code, again.status_code) == (201, 201)
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"
        assert again.json()["id"] == first.json()["id"]
        assert texts(client.get("/api/v1/memories/")) == ["I like tea."]
    another_device = client_with(owner, "ann")
    body |= {"text": "Another."}
    assert another_device.post("/api/v1/memories/", body, format="json", HTTP_IDEMPOTENCY_KEY="1").status_code == 422
    long = "k" * 255
    assert ann.post("/api/v1/memories/", body, format="json", HTTP_IDEMPOTENCY_KEY=long).status_code == 201


def test_what_is_of_others_is_as_if_it_were_not_there(api: APIClient, ann: APIClient) -> None:
    """A memory may not name their chats, characters and messages, and no reply tells that these exist."""
    for namespace in ("bob", ""):
        chat, message = chat_with_message(api, namespace)
        character = api.post("/api/v1/characters/", {"name": "Mira", "namespace": namespace}, format="json").json()
        unknown = "00000000-0000-7000-8000-000000000000"
        for name, pk in (("chat", chat), ("character", character["id"]), ("source_messages", message)):
            details = []
            for named in (pk, unknown):
                body = {"text": "x", name: [named] if name == "source_messages" else named}
                reply = ann.post("/api/v1/memories/", body, format="json")
                assert reply.status_code == 400
                details.append(reply.content.decode().replace(named, ""))
            assert details[0] == details[1]
    chat, message = chat_with_message(api, "ann")
    own = remember(ann, "Ann said good morning.", chat=chat, source_messages=[message])
    assert own["source_messages"] == [message]


def chat_with_message(api: APIClient, namespace: str) -> tuple[str, str]:
    chat = api.post("/api/v1/chats/", {"title": "C", "namespace": namespace}, format="json").json()
    body = {"integrity": chat["integrity"], "messages": [{"name": "Ann", "mes": "Good morning."}]}
    assert api.post(f"/api/v1/chats/{chat['id']}/append/", body, format="json").status_code == 201
    (message,) = api.get(f"/api/v1/chats/{chat['id']}/messages/").json()["results"]
    return chat["id"], message["id"]


@pytest.mark.parametrize("path", ["/api/v1/namespaces/", "/mem0/v1/entities/"])
def test_nothing_of_others_is_counted_for_it(api: APIClient, ann: APIClient, path: str) -> None:
    """An account may have very many end users, each of whose devices asks for its own."""
    remember(ann, "Ann likes coffee.")
    for number in range(20):
        remember(api, "I like tea.", namespace=f"user-{number}")
    with CaptureQueriesContext(connection) as queries:
        assert len(ann.get(path).json()["results"]) == 1
    (counting,) = [query["sql"] for query in queries if "sum(memories)" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + counting)
        (plan,) = cursor.fetchone()[0]
    assert sum(rows_of_scans(plan["Plan"])) == 1


def rows_of_scans(plan: dict[str, Any]) -> list[int]:
    """Return how many rows each scan of a table gives to the rest of a plan."""
    own = [plan["Actual Rows"]] if "Relation Name" in plan else []
    return own + [rows for below in plan.get("Plans", ()) for rows in rows_of_scans(below)]


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
    assert call_in_thread(lambda: ann.post("/v1/chat/completions", {}, format="json").status_code) == 403
    assert call_in_thread(lambda: ann.get("/v1/models").status_code) == 403


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
