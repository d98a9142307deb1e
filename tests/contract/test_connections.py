"""Connections to models over HTTP: kept, changed, tested and counted; their keys never come back."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from apps.llm.models import Connection
from apps.llm.operations import record_usage, set_daily_limit
from tests.contract.conftest import client_of
from tests.llm.conftest import ciphertext_of
from tests.llm.scripted_server import MODELS, Reply, ScriptedServer

URL = "/api/v1/connections/"
KEY = "sk-very-secret-abcd"
BODY = {"name": "Home", "backend": "openai", "base_url": "https://models.example.com/v1", "model": "small"}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer("ready") as running:
        yield running


def create(client: APIClient, **fields: Any) -> dict[str, Any]:
    reply = client.post(URL, BODY | fields)
    assert reply.status_code == 201, reply.content
    return reply.json()


def pointers(reply: Any) -> list[str]:
    assert reply.status_code == 400, reply.content
    assert reply["Content-Type"] == "application/problem+json"
    return [error["pointer"] for error in reply.json()["errors"]]


def test_a_connection_is_made_read_changed_and_deleted(alice: APIClient) -> None:
    made = create(alice, embedding_model="vectors", context_tokens=4096, timeout=30, stream=False)
    url = f"{URL}{made['id']}/"
    assert made | BODY == made
    assert (made["context_tokens"], made["timeout"], made["stream"]) == (4096, 30, False)
    assert (made["for_generation"], made["checked_at"], made["check_error"]) == (False, None, "")
    assert alice.get(url).json() == made
    changed = alice.patch(url, {"model": "large", "timeout": 60}).json()
    assert (changed["model"], changed["timeout"], changed["name"]) == ("large", 60, "Home")
    assert [one["id"] for one in alice.get(URL).json()["results"]] == [made["id"]]
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404


def test_how_a_connection_calls_and_what_it_costs_are_kept(alice: APIClient) -> None:
    made = create(alice)
    defaults = {"parallel_calls": 4, "reasoning_effort": "", "extra_body": {}, "currency": "USD"}
    assert made | defaults | {"prompt_price": None, "completion_price": None} == made
    given = {"parallel_calls": 2, "reasoning_effort": "low", "extra_body": {"top_p": 0.9, "seed": None}}
    prices = {"prompt_price": "0.150000", "completion_price": "0.600000", "currency": "EUR"}
    url = f"{URL}{made['id']}/"
    changed = alice.patch(url, given | {"prompt_price": 0.15, "completion_price": "0.60", "currency": "EUR"}).json()
    assert changed | given | prices == changed
    assert alice.get(url).json() == changed
    assert alice.patch(url, {"parallel_calls": None, "prompt_price": None}).json()["parallel_calls"] == 4


def test_the_list_comes_by_cursor_newest_first(alice: APIClient) -> None:
    names = [create(alice, name=name)["name"] for name in ("a", "b", "c")]
    page = alice.get(URL, {"limit": 2}).json()
    rest = alice.get(page["next"]).json()
    assert [one["name"] for one in page["results"] + rest["results"]] == names[::-1]


def test_a_key_is_taken_and_never_given_back(alice: APIClient) -> None:
    made = create(alice, api_key=KEY)
    url = f"{URL}{made['id']}/"
    replies = [alice.get(url), alice.get(URL), alice.patch(url, {"name": "Elsewhere"})]
    assert all(KEY not in reply.content.decode() and "sk-very" not in reply.content.decode() for reply in replies)
    assert "api_key" not in made
    assert replies[0].json()["api_key_hint"] == "abcd"
    assert replies[2].json()["api_key_hint"] == "abcd"
    stored = Connection.objects.for_owner(alice.user).get()
    assert stored.api_key
    assert KEY.encode() not in ciphertext_of(stored)
    assert alice.patch(url, {"api_key": ""}).json()["api_key_hint"] == ""
    assert not Connection.objects.for_owner(alice.user).get().api_key


def test_one_connection_at_a_time_is_used_for_each_purpose(alice: APIClient) -> None:
    first = create(alice, for_generation=True, embedding_model="v", for_embeddings=True)
    second = create(alice, name="Second")
    assert (first["for_generation"], first["for_embeddings"]) == (True, True)
    assert alice.patch(f"{URL}{second['id']}/", {"for_generation": True}).json()["for_generation"]
    first = alice.get(f"{URL}{first['id']}/").json()
    assert (first["for_generation"], first["for_embeddings"]) == (False, True)
    assert not alice.patch(f"{URL}{second['id']}/", {"for_generation": False}).json()["for_generation"]


def test_a_use_without_a_model_is_refused_and_nothing_is_stored(alice: APIClient) -> None:
    assert pointers(alice.post(URL, BODY | {"for_embeddings": True})) == ["/embedding_model"]
    assert alice.get(URL).json()["results"] == []
    url = f"{URL}{create(alice, model='')['id']}/"
    assert pointers(alice.patch(url, {"name": "Other", "for_generation": True})) == ["/model"]
    assert alice.get(url).json()["name"] == "Home"
    assert alice.patch(url, {"model": "small", "for_generation": True}).json()["for_generation"]
    assert not alice.patch(url, {"model": "", "for_generation": False}).json()["for_generation"]


@pytest.mark.parametrize(
    "address",
    [
        "http://10.0.0.1/v1",
        "http://169.254.169.254/latest",
        "http://[fe80::1]/v1",
        "ftp://models.example.com",
        "file:///etc/passwd",
        "https://user:password@models.example.com/v1",
        "https:///v1",
        "models",
        "http://[",
    ],
)
def test_an_address_that_may_never_be_called_is_refused_at_once(alice: APIClient, address: str) -> None:
    assert pointers(alice.post(URL, BODY | {"base_url": address})) == ["/base_url"]
    url = f"{URL}{create(alice)['id']}/"
    assert pointers(alice.patch(url, {"base_url": address})) == ["/base_url"]
    assert alice.get(url).json()["base_url"] == BODY["base_url"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"name": " "}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"backend": "other"}, "/backend"),
        ({"context_tokens": 10}, "/context_tokens"),
        ({"context_tokens": "4096"}, "/context_tokens"),
        ({"timeout": 0}, "/timeout"),
        ({"timeout": True}, "/timeout"),
        ({"stream": "yes"}, "/stream"),
        ({"api_key": 5}, "/api_key"),
        ({"api_key": "x" * 1001}, "/api_key"),
        ({"api_key": "two\nlines"}, "/api_key"),
        ({"model": "m" * 201}, "/model"),
        ({"api_key_hint": "abcd"}, "/api_key_hint"),
        ({"unknown": 1}, "/unknown"),
        ({"parallel_calls": 0}, "/parallel_calls"),
        ({"parallel_calls": 17}, "/parallel_calls"),
        ({"reasoning_effort": "much"}, "/reasoning_effort"),
        ({"extra_body": []}, "/extra_body"),
        ({"extra_body": {"messages": []}}, "/extra_body"),
        ({"extra_body": {"model": None}}, "/extra_body"),
        ({"prompt_price": -1}, "/prompt_price"),
        ({"completion_price": 0.0000001}, "/completion_price"),
        ({"currency": "eur"}, "/currency"),
        ({"currency": ""}, "/currency"),
    ],
)
def test_what_is_wrong_is_named(alice: APIClient, fields: dict[str, Any], pointer: str) -> None:
    assert pointers(alice.post(URL, BODY | fields)) == [pointer]
    assert not Connection.objects.for_owner(alice.user).exists()


def test_a_key_is_not_taken_along_to_another_server(alice: APIClient) -> None:
    url = f"{URL}{create(alice, api_key=KEY)['id']}/"
    assert pointers(alice.patch(url, {"base_url": "https://evil.example.net/v1"})) == ["/api_key"]
    assert alice.get(url).json()["base_url"] == BODY["base_url"]
    assert alice.patch(url, {"base_url": "https://models.example.com/api/v1"}).status_code == 200
    moved = alice.patch(url, {"base_url": "https://other.example.net/v1", "api_key": "another-key-wxyz"})
    assert (moved.status_code, moved.json()["api_key_hint"]) == (200, "wxyz")
    assert alice.patch(url, {"base_url": "https://third.example.net/v1", "api_key": ""}).status_code == 200


def test_a_stranger_finds_nothing(alice: APIClient, charlie: APIClient) -> None:
    url = f"{URL}{create(alice)['id']}/"
    assert charlie.get(URL).json()["results"] == []
    for reply in (
        charlie.get(url),
        charlie.patch(url, {"name": "Mine"}),
        charlie.delete(url),
        charlie.post(f"{url}test/"),
        charlie.get(f"{URL}{uuid4()}/"),
    ):
        assert reply.status_code == 404
    assert alice.get(url).json()["name"] == "Home"


def test_a_token_that_only_reads_changes_nothing(alice: APIClient) -> None:
    url = f"{URL}{create(alice)['id']}/"
    reader = client_of(alice.user, scope="read")
    assert reader.get(url).status_code == 200
    for reply in (reader.post(URL, BODY), reader.patch(url, {"name": "x"}), reader.post(f"{url}test/")):
        assert reply.status_code == 403


def test_a_test_asks_for_what_the_connection_is_for(alice: APIClient, server: ScriptedServer) -> None:
    made = create(alice, base_url=server.url, model=MODELS[0], embedding_model=MODELS[1], api_key=KEY)
    reply = alice.post(f"{URL}{made['id']}/test/")
    assert reply.status_code == 200
    found = reply.json()
    assert set(found) == {"ok", "error", "models", "reply", "seconds", "constrains_replies"}
    assert (found["ok"], found["error"], found["models"], found["reply"]) == (True, "", MODELS, "ready")
    assert 0 < found["seconds"] < 60
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    after = alice.get(f"{URL}{made['id']}/").json()
    assert (after["checked_at"] is not None, after["check_error"]) == (True, "")
    today = alice.get("/api/v1/usage/").json()["today"]
    assert today["calls"] == len(server.of_kind("generation")) + len(server.of_kind("embeddings")) == 3
    assert today["total_tokens"] > 0


@pytest.mark.parametrize(("status", "told"), [(401, "key"), (404, "address or model"), (500, "failed")])
def test_a_test_that_fails_says_why(alice: APIClient, server: ScriptedServer, status: int, told: str) -> None:
    server.reply_to(lambda request: True, Reply(raw=f"No: {KEY}".encode(), status=status))
    made = create(alice, base_url=server.url, api_key=KEY)
    reply = alice.post(f"{URL}{made['id']}/test/")
    assert (reply.status_code, reply.json()["ok"]) == (200, False)
    assert told in reply.json()["error"]
    assert KEY not in reply.content.decode()
    assert alice.get(f"{URL}{made['id']}/").json()["check_error"] == reply.json()["error"]


def test_a_test_of_an_address_that_is_no_longer_allowed_names_the_setting(
    alice: APIClient, server: ScriptedServer, settings: Any
) -> None:
    made = create(alice, base_url=server.url)
    settings.LLM_ALLOWED_ADDRESSES = []
    assert "LLM_ALLOWED_ADDRESSES" in alice.post(f"{URL}{made['id']}/test/").json()["error"]
    assert server.requests == []


def test_usage_is_told_by_day_against_the_limit(alice: APIClient, charlie: APIClient) -> None:
    record_usage(alice.user, "small", 100, 20)
    record_usage(alice.user, "small", 10, 2)
    record_usage(charlie.user, "large", 1, 1)
    set_daily_limit(alice.user, 500)
    told = alice.get("/api/v1/usage/").json()
    totals = {"calls": 2, "prompt_tokens": 110, "completion_tokens": 22, "total_tokens": 132}
    assert (told["today"], told["limit"]) == (totals, 500)
    assert [{name: day[name] for name in ("model", *totals)} for day in told["days"]] == [{"model": "small"} | totals]


def test_at_the_limit_a_test_calls_nobody(alice: APIClient, server: ScriptedServer) -> None:
    set_daily_limit(alice.user, 0)
    made = create(alice, base_url=server.url, model=MODELS[0])
    found = alice.post(f"{URL}{made['id']}/test/").json()
    assert "limit" in found["error"]
    assert server.of_kind("generation") == []
