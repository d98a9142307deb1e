"""POST memories/search/, as api.md has it."""

import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.chats.models import Chat
from apps.search.indexing import index_messages
from apps.search.ranking import SIGNALS
from apps.text.lexemes import Lexemes
from tests.contract.conftest import client_of
from tests.factories import make_memory

URL = "/api/v1/memories/search/"


def indexed(client: APIClient, chat: dict[str, Any]) -> Chat:
    row = Chat.objects.for_owner(client.user).get(pk=chat["id"])
    index_messages(client.user, row)
    return row


def test_a_message_and_a_memory_are_found(alice: APIClient, chat: dict[str, Any]) -> None:
    text = "The key lies under the blue stone."
    memory = make_memory(indexed(alice, chat), text, lexemes=Lexemes(text))
    reply = alice.post(URL, {"query": "What lies under the blue stone?", "chat": chat["id"], "limit": 5})
    assert reply.status_code == 200
    body = reply.json()
    assert body["method"] == "hybrid"
    by_tier = {result["tier"]: result for result in reversed(body["results"])}
    assert set(by_tier) == {"messages", "long_term"}
    message, remembered = by_tier["messages"], by_tier["long_term"]
    assert (message["memory"], remembered["message"]) == (None, None)
    assert message["message"]["mes"] == "Under the blue stone."
    assert message["message"]["chat"] == chat["id"]
    assert remembered["memory"]["id"] == str(memory.pk)
    assert set(message["signals"]) == set(remembered["signals"]) == set(SIGNALS)
    assert {"vector", "lexical", "recency", "graph", "instance", "importance"} <= set(message["signals"])
    assert remembered["excerpt"] == remembered["matched_sentence"] == text
    assert all(0 < result["score"] <= 1 for result in body["results"])


def test_a_token_that_reads_may_search(alice: APIClient, chat: dict[str, Any]) -> None:
    indexed(alice, chat)
    reader = client_of(alice.user, scope="read")
    assert reader.post(URL, {"query": "key"}).status_code == 200


def test_a_stranger_finds_nothing_and_knows_no_chat(alice: APIClient, charlie: APIClient, chat: dict[str, Any]) -> None:
    indexed(alice, chat)
    assert charlie.post(URL, {"query": "key"}).json()["results"] == []
    assert charlie.post(URL, {"query": "key", "chat": chat["id"]}).status_code == 404
    assert APIClient().post(URL, {"query": "key"}).status_code == 401


@pytest.mark.parametrize("name", ["chat", "character"])
def test_what_does_not_exist_is_missing(alice: APIClient, name: str) -> None:
    assert alice.post(URL, {"query": "key", name: str(uuid.uuid4())}).status_code == 404


@pytest.mark.parametrize("preset", ["default", "seed", "dense", "bm25", "ts_rank"])
def test_presets(alice: APIClient, chat: dict[str, Any], preset: str) -> None:
    indexed(alice, chat)
    reply = alice.post(URL, {"query": "key", "preset": preset, "tiers": ["messages", "journal", "scenes"]})
    assert reply.json()["method"] == {"default": "hybrid", "seed": "vector", "dense": "vector"}.get(preset, "text")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"query": ""}, "/query"),
        ({"query": " \n"}, "/query"),
        ({"query": None}, "/query"),
        ({"query": 5}, "/query"),
        ({"query": "x" * 20_001}, "/query"),
        ({"query": "nul\x00"}, "/query"),
        ({"chat": "no-id"}, "/chat"),
        ({"character": []}, "/character"),
        ({"instance": 5}, "/instance"),
        ({"tiers": []}, "/tiers"),
        ({"tiers": "messages"}, "/tiers"),
        ({"tiers": ["messages", "dreams"]}, "/tiers/1"),
        ({"limit": 0}, "/limit"),
        ({"limit": 201}, "/limit"),
        ({"limit": "5"}, "/limit"),
        ({"min_score": 1.5}, "/min_score"),
        ({"min_score": True}, "/min_score"),
        ({"preset": "best"}, "/preset"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong_with_it(alice: APIClient, change: dict[str, Any], pointer: str) -> None:
    reply = alice.post(URL, {"query": "key"} | change)
    assert reply.status_code == 400
    assert reply["Content-Type"] == "application/problem+json"
    assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]


def test_a_body_that_is_no_object(alice: APIClient) -> None:
    assert alice.post(URL, ["query"]).status_code == 400


def test_results_are_narrowed_to_a_kind_and_to_days(alice: APIClient, chat: dict[str, Any]) -> None:
    text = "The key lies under the blue stone."
    make_memory(indexed(alice, chat), text, kind="detail", tier="session", lexemes=Lexemes(text))
    today = timezone.now().date()

    def tiers(**filters: Any) -> set[str]:
        reply = alice.post(URL, {"query": "key blue stone"} | filters)
        assert reply.status_code == 200
        return {result["tier"] for result in reply.json()["results"]}

    assert tiers() == tiers(**{"from": None, "to": None, "kind": None}) == {"messages", "session"}
    assert tiers(kind="detail") == {"session"}
    assert tiers(kind="fact") == set()
    assert "session" in tiers(**{"from": str(today - dt.timedelta(days=1))})
    assert tiers(to="1999-12-31") == set()


@pytest.mark.parametrize(
    ("filters", "pointer"),
    [
        ({"kind": "secret"}, "/kind"),
        ({"from": "yesterday"}, "/from"),
        ({"from": "2024-03-05", "to": "2024-03-04"}, "/to"),
    ],
)
def test_wrong_filters_are_named(alice: APIClient, filters: dict[str, Any], pointer: str) -> None:
    reply = alice.post(URL, {"query": "key"} | filters)
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]
