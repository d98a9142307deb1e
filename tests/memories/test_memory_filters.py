"""Metadata, tags and expiry of memories, filters by them, batches and histories."""

import datetime as dt
import json
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from tests.factories import make_chat
from tests.memories.test_namespaces import API, post, texts


@pytest.fixture
def stored(alice: APIClient) -> None:
    for text, metadata, tags in (
        ("One.", {"score": 1, "lang": "de", "deep": {"er": [1, 2]}}, ["a"]),
        ("Two.", {"score": 2.5, "lang": "en"}, ["a", "b"]),
        ("Three.", {"score": "3", "topics": ["tea", "bees"]}, []),
    ):
        post(alice, "memories/", {"text": text, "metadata": metadata, "tags": tags})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"metadata.score": 1}, ["One."]),
        ({"metadata.score": {"eq": 1.0}}, ["One."]),
        ({"metadata.score": {"gt": 1}}, ["Two."]),
        ({"metadata.score": {"gte": "2"}}, ["Three."]),
        ({"metadata.score": {"gte": 1, "lt": 2}}, ["One."]),
        ({"metadata.lang": {"ne": "de"}}, ["Three.", "Two."]),
        ({"metadata.lang": {"in": ["de", "fr"]}}, ["One."]),
        ({"metadata.lang": {"icontains": "E"}}, ["One.", "Two."]),
        ({"metadata.topics": {"contains": "bees"}}, ["Three."]),
        ({"metadata.deep.er": [1, 2]}, ["One."]),
        ({"tags": {"any": ["b", "c"]}}, ["Two."]),
        ({"tags": {"all": ["a"]}, "not": {"tags": {"contains": "b"}}}, ["One."]),
        (
            {"or": [{"text": {"contains": "Thr"}}, {"and": [{"metadata.lang": "en"}, {"kind": "fact"}]}]},
            ["Three.", "Two."],
        ),
        ({"created_at": {"lte": "2020-01-01"}}, []),
        ({"created_at": {"gt": "2020-01-01T00:00:00Z"}, "importance": {"gte": 3}}, []),
    ],
)
def test_conditions(alice: APIClient, stored: None, condition: dict[str, Any], expected: list[str]) -> None:
    assert texts(alice, filter=json.dumps(condition)) == expected
    body = {"query": "One. Two. Three.", "filter": condition}
    assert sorted(one["memory"]["text"] for one in post(alice, "memories/search/", body, 200)["results"]) == expected


@pytest.mark.parametrize(
    ("condition", "pointer", "named"),
    [
        ({"mood": 1}, "/filter/mood", "'mood'"),
        ({"kind": {"like": "fact"}}, "/filter/kind/like", "'like'"),
        ({"kind": "secret"}, "/filter/kind", "fact"),
        ({"and": {"kind": "fact"}}, "/filter/and", "list"),
        ({"or": [{"tags": {"any": "a"}}]}, "/filter/or/0/tags/any", "list"),
        ({"created_at": {"gte": "tomorrow"}}, "/filter/created_at/gte", "date"),
        ({"importance": {"gte": "high"}}, "/filter/importance/gte", "number"),
        ({"importance": {"gte": 10**40}}, "/filter/importance/gte", "between -1,000,000,000 and 1,000,000,000"),
        ({"metadata.": 1}, "/filter/metadata.", "metadata.KEY"),
        ({"metadata.a": {"gt": [1]}}, "/filter/metadata.a/gt", "number"),
        ([], "/filter", "object"),
    ],
)
def test_what_a_filter_cant_mean_is_refused_by_name(alice: APIClient, condition: Any, pointer: str, named: str) -> None:
    reply = alice.post(f"{API}/memories/search/", {"query": "a", "filter": condition})
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == pointer
    assert named in reply.json()["errors"][0]["detail"]
    assert alice.get(f"{API}/memories/", {"filter": json.dumps(condition)}).status_code == 400


def test_filters_are_bounded(alice: APIClient) -> None:
    deep: dict[str, Any] = {"kind": "fact"}
    for _ in range(12):
        deep = {"not": deep}
    for condition in (deep, {"and": [{"kind": "fact"}] * 101}, {"id": {"in": ["x"]}}):
        assert alice.post(f"{API}/memories/search/", {"query": "a", "filter": condition}).status_code == 400


def test_what_has_expired_is_neither_listed_found_nor_told(alice: APIClient) -> None:
    chat = make_chat(alice.user, "I keep bees.")
    gone = (timezone.now() - dt.timedelta(days=1)).isoformat()
    memory = post(alice, "memories/", {"text": "The key is golden.", "chat": str(chat.pk), "expires_at": gone})
    assert texts(alice, chat=str(chat.pk)) == []
    assert texts(alice, expired="true") == ["The key is golden."]

    def told() -> bool:
        prompt = post(alice, f"chats/{chat.pk}/prompt/", {"text": "Which key?"}, 200)
        found = post(alice, "memories/search/", {"query": "golden key", "chat": str(chat.pk)}, 200)["results"]
        return "golden" in json.dumps(prompt["slots"]) and any(one["memory"] for one in found)

    assert not told()
    one = f"{API}/memories/{memory['id']}/"
    assert alice.get(one).json()["expires_at"]
    assert alice.patch(one, {"expires_at": None}).json()["edited_by"] == memory["edited_by"]
    assert told()


def test_a_batch_changes_all_or_nothing(alice: APIClient, charlie: APIClient) -> None:
    one, two = (post(alice, "memories/", {"text": text})["id"] for text in ("One.", "Two."))
    foreign = post(charlie, "memories/", {"text": "Foreign."})["id"]
    body = {"update": [{"id": one, "text": "1."}], "delete": [two, foreign]}
    refused = alice.post(f"{API}/memories/batch/", body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/delete/1")
    assert texts(alice) == ["One.", "Two."]
    done = post(alice, "memories/batch/", {"update": [{"id": one, "text": "1.", "tags": ["n"]}], "delete": [two]}, 200)
    assert [(row["text"], row["tags"]) for row in done["updated"]] == [("1.", ["n"])]
    assert done["deleted"] == [two]
    assert texts(charlie) == ["Foreign."]


def test_a_history_tells_corrections_and_replacements(alice: APIClient, charlie: APIClient) -> None:
    first = post(alice, "memories/", {"text": "Tea."})["id"]
    alice.patch(f"{API}/memories/{first}/", {"text": "Coffee."})
    second = post(alice, "memories/", {"text": "Milk."})["id"]
    merged = post(alice, "memories/merge/", {"memories": [first, second], "text": "Coffee with milk."})["id"]
    history = alice.get(f"{API}/memories/{merged}/history/").json()["results"]
    assert [(event["event"], event["text"], event["former_text"]) for event in history] == [
        ("added", "Tea.", None),
        ("corrected", "Coffee.", "Tea."),
        ("superseded", "Coffee.", None),
        ("added", "Milk.", None),
        ("superseded", "Milk.", None),
        ("added", "Coffee with milk.", None),
    ]
    assert {event["successor"] for event in history if event["event"] == "superseded"} == {merged}
    assert charlie.get(f"{API}/memories/{merged}/history/").status_code == 404
