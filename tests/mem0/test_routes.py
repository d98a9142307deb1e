"""What mem0's client sends is answered as it expects."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.memories.models import Memory, RetiredReason
from apps.memories.operations.superseding import retract_memories
from tests.mem0.conftest import SdkRequests
from tests.queues import drain

MANY = dict.fromkeys(map(str, range(200)), 1)


def test_a_token_is_known_by_mem0s_header_and_no_address_is_told(alice: SdkRequests) -> None:
    known = alice.ok("get", "/v1/ping/")
    assert known == {"status": "ok", "org_id": str(alice.user.pk), "project_id": "loci", "user_email": None}
    alice.http.credentials(HTTP_AUTHORIZATION="Token loci_wrong")
    assert alice.http.get("/mem0/v1/ping/").status_code == 401


def test_a_memory_is_added_read_changed_told_and_deleted(alice: SdkRequests) -> None:
    memory_id = alice.store("Ann likes tea.", user_id="ann", agent_id="cook", metadata={"a": 1}, categories=["food"])
    memory = alice.ok("get", f"/v1/memories/{memory_id}/")
    assert memory["memory"] == "Ann likes tea."
    assert (memory["user_id"], memory["agent_id"], memory["run_id"]) == ("ann", "cook", None)
    assert (memory["metadata"], memory["categories"]) == ({"a": 1}, ["food"])

    changed = alice.ok("put", f"/v1/memories/{memory_id}/", {"text": "Ann likes coffee.", "metadata": {"b": 2}})
    assert (changed["memory"], changed["metadata"]) == ("Ann likes coffee.", {"b": 2})
    history = alice.ok("get", f"/v1/memories/{memory_id}/history/")
    assert [(one["event"], one["old_memory"], one["new_memory"]) for one in history] == [
        ("ADD", None, "Ann likes tea."),
        ("UPDATE", "Ann likes tea.", "Ann likes coffee."),
    ]
    alice.ok("delete", f"/v1/memories/{memory_id}/")
    assert alice.refused("get", f"/v1/memories/{memory_id}/")["status"] == 404
    *earlier, deletion = alice.ok("get", f"/v1/memories/{memory_id}/history/")
    assert [one["event"] for one in earlier] == ["ADD", "UPDATE"]
    assert all(one["updated_at"] < deletion["updated_at"] for one in earlier)
    last = {"event": "DELETE", "old_memory": "Ann likes coffee.", "new_memory": None, "memory_id": memory_id}
    assert {name: deletion[name] for name in last} == last
    assert alice.get_all({"user_id": "ann"}) == []


def test_a_memory_that_was_retired_before_it_was_deleted_is_told_as_deleted_once(alice: SdkRequests) -> None:
    memory_id = alice.store("Ann likes tea.", user_id="ann")
    retract_memories(Memory.objects.for_owner(alice.user), RetiredReason.UNDONE)
    alice.ok("delete", f"/v1/memories/{memory_id}/")
    history = alice.ok("get", f"/v1/memories/{memory_id}/history/")
    assert [one["event"] for one in history] == ["ADD", "DELETE"]


def test_memories_are_listed_in_pages_and_found(alice: SdkRequests) -> None:
    for number in range(3):
        alice.store(f"Ann has the number {number}.", user_id="ann")
    first = alice.ok("post", "/v3/memories/?page=1&page_size=2", {"filters": {"user_id": "ann"}})
    assert (first["count"], len(first["results"]), first["previous"]) == (3, 2, None)
    assert "page=2" in first["next"]
    last = alice.ok("post", "/v3/memories/?page=2&page_size=2", {"filters": {"user_id": "ann"}})
    assert (len(last["results"]), last["next"]) == (1, None)
    assert alice.search("number 1", filters={"user_id": "ann"}, top_k=1) == ["Ann has the number 1."]
    older = alice.ok("post", "/v2/memories/search/", {"query": "number", "filters": {"AND": [{"user_id": "ann"}]}})
    assert len(older) == 3
    assert len(alice.ok("get", "/v1/memories/?user_id=ann")) == 3


@pytest.mark.django_db(transaction=True)
def test_what_is_said_is_read_and_its_event_tells_what_came_of_it(alice: SdkRequests) -> None:
    said = [
        {"role": "user", "content": "My name is Ann and I live in Lisbon. I am allergic to peanuts."},
        {"role": "assistant", "content": "I will remember that."},
    ]
    added = alice.add(said, user_id="ann", run_id="visit", metadata={"source": "form"}, expiration_date="2099-01-01")
    assert added["status"] == "PENDING"
    assert alice.ok("get", f"/v1/event/{added['event_id']}/")["status"] == "PENDING"
    drain("extraction")
    event = alice.ok("get", f"/v1/event/{added['event_id']}/")
    assert event["status"] == "SUCCEEDED"
    assert any("peanuts" in one["memory"] for one in event["results"])
    memory = alice.ok("get", f"/v1/memories/{event['results'][0]['id']}/")
    assert (memory["user_id"], memory["run_id"], memory["metadata"]) == ("ann", "visit", {"source": "form"})
    assert memory["expiration_date"] == "2099-01-01"
    assert any("peanuts" in text for text in alice.search("Which allergies?", filters={"user_id": "ann"}))
    assert alice.ok("get", "/v1/events/")["count"] == 1


def test_batches_change_all_or_nothing(alice: SdkRequests, sdk: Callable[[str], SdkRequests]) -> None:
    one, two = (alice.store(text, user_id="ann") for text in ("First.", "Second."))
    alice.ok(
        "put", "/v1/batch/", {"memories": [{"memory_id": one, "text": "1st."}, {"memory_id": two, "text": "2nd."}]}
    )
    assert alice.get_all({"user_id": "ann"}) == ["1st.", "2nd."]
    charlie = sdk("charlie")
    foreign = charlie.store("Third.", user_id="ann")
    charlie.refused("delete", "/v1/batch/", {"memories": [{"memory_id": foreign}, {"memory_id": one}]})
    assert charlie.get_all({"user_id": "ann"}) == ["Third."]
    alice.ok("delete", "/v1/batch/", {"memories": [{"memory_id": one}, {"memory_id": two}]})
    assert alice.get_all({"user_id": "ann"}) == []


def test_users_agents_and_runs_are_listed_and_deleted(alice: SdkRequests) -> None:
    alice.store("Of Ann.", user_id="ann", agent_id="cook", run_id="r/1")
    alice.store("Of Bob.", user_id="bob")
    listed = alice.ok("get", "/v1/entities/")["results"]
    assert [(one["type"], one["name"], one["total_memories"]) for one in listed] == [
        ("user", "ann", 1),
        ("user", "bob", 1),
        ("agent", "cook", 1),
        ("run", "r/1", 1),
    ]
    alice.ok("delete", "/v2/entities/run/r%2F1/")
    assert alice.get_all({"user_id": "ann"}) == []
    alice.ok("delete", "/v2/entities/user/bob/")
    assert [one["name"] for one in alice.ok("get", "/v1/entities/")["results"]] == ["ann"]
    alice.ok("delete", "/v2/entities/user/bob/")
    assert alice.refused("delete", "/v2/entities/pet/bob/")["status"] == 404


def test_all_of_a_user_are_deleted_and_of_no_other(alice: SdkRequests) -> None:
    for user in ("ann", "bob"):
        alice.store(f"Of {user}.", user_id=user)
    assert alice.refused("delete", "/v1/memories/")["detail"].startswith("Name at least one of")
    alice.ok("delete", "/v1/memories/?filters=%7B%27user_id%27%3A+%27ann%27%7D")  # as httpx writes a dictionary
    assert alice.get_all({"user_id": "ann"}) == []
    assert alice.get_all({"user_id": "bob"}) == ["Of bob."]


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"AND": [{"user_id": "ann"}, {"mood": "good"}]}, "mood"),
        ({"AND": [{"user_id": {"like": "a"}}]}, "like"),
        ({"AND": [{"user_id": "ann"}, {"created_at": {"around": "2026-01-01"}}]}, "around"),
        ({"AND": [{"user_id": "ann"}, {"created_at": {"gte": "soon"}}]}, "2026-11-27"),
        ({"AND": [{"user_id": "ann"}, {"metadata": {"a": {"~": 1}}}]}, "~"),
        ({"AND": {"user_id": "ann"}}, "list"),
        ({"categories": {"in": ["a"]}}, "user_id"),
        ({}, "user_id"),
    ],
)
def test_what_filters_cant_mean_is_refused_by_name(alice: SdkRequests, filters: object, named: str) -> None:
    assert named in alice.refused("post", "/v3/memories/", {"filters": filters})["detail"]


def test_what_is_not_supported_says_so(alice: SdkRequests) -> None:
    assert "/v1/exports/" in alice.refused("post", "/v1/exports/", {"schema": "{}"})["detail"]
    body = {"messages": "Hi.", "user_id": "ann", "custom_instructions": "Only names."}
    assert alice.refused("post", "/v3/memories/add/", body)["errors"][0]["pointer"] == "/custom_instructions"
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
    assert "pictures" in alice.refused("post", "/v3/memories/add/", {"messages": picture, "user_id": "ann"})["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("v2/memories/search/", {"query": "x", "filters": ["a"]}),
        ("v2/memories/search/", {"query": "x", "filters": "5"}),
        ("v2/memories/search/", {"query": "x", "filters": "{'metadata': {'x': {1, 2}}}"}),
        ("v2/memories/search/", {"query": "x", "filters": '{"AND":' * 450}),
        ("v2/memories/search/", {"query": "x", "filters": '{"user_id": "a\\u0000"}'}),
        (
            "v2/memories/search/",
            {"query": "x", "filters": {"user_id": "a", "metadata": dict.fromkeys(map(str, range(200)), 1)}},
        ),
        ("v3/memories/add/", {"messages": "Hi.", "agent_id": "cook", "filters": {"AND": [{"user_id": "alice"}]}}),
        ("v3/memories/add/", {"messages": "Hi.", "filters": {"user_id": {"in": ["x"]}}}),
        ("v3/memories/add/", {"messages": "Hi.", "filters": {"user_id": "x" * 256}}),
    ],
)
def test_filters_that_are_none_are_refused_by_name(alice: SdkRequests, path: str, body: dict[str, Any]) -> None:
    assert alice.refused("post", f"/{path}", body)["errors"]


def test_the_last_day_of_a_memory_is_told_found_and_sent_back_as_it_was_given(alice: SdkRequests) -> None:
    memory_id = alice.store("Ann is on a diet.", user_id="ann", expiration_date="2099-12-31")
    for _ in range(2):
        memory = alice.ok("get", f"/v1/memories/{memory_id}/")
        assert memory["expiration_date"] == "2099-12-31"
        alice.ok("put", f"/v1/memories/{memory_id}/", {"expiration_date": memory["expiration_date"]})
    for condition, is_met in (
        ("2099-12-31", True),
        ("2100-01-01", False),
        ({"gte": "2099-12-31", "lte": "2099-12-31"}, True),
        ({"lt": "2099-12-31"}, False),
        ({"gt": "2099-12-31"}, False),
        ({"ne": "2099-12-31"}, False),
        ({"gt": "2099-12-30", "lt": "2100-01-01"}, True),
        (None, False),
    ):
        found = alice.get_all({"AND": [{"user_id": "ann"}, {"expiration_date": condition}]})
        assert bool(found) == is_met, condition


@pytest.mark.parametrize("at", ["2099-12-31T12:00:00Z", "2099-12-31T23:59:59.999998Z"])
def test_a_memory_that_expires_within_a_day_is_not_kept_longer_by_who_sends_that_back(
    alice: SdkRequests, at: str
) -> None:
    memory_id = alice.store("Ann is on a diet.", user_id="ann", expiration_date=at)
    stored = Memory.objects.for_owner(alice.user).get().expires_at
    memory = alice.ok("get", f"/v1/memories/{memory_id}/")
    assert memory["expiration_date"] == at
    alice.ok("put", f"/v1/memories/{memory_id}/", {"expiration_date": memory["expiration_date"]})
    assert Memory.objects.for_owner(alice.user).get().expires_at == stored


def test_what_a_program_that_uses_tools_has_in_its_history_keeps_nothing_from_being_added(alice: SdkRequests) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    said = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "I am in Oslo. Does it rain?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "function", "name": "weather", "content": "rain"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "text", "text": "It rains."}, {"type": "tool_use", "id": "2"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2", "content": "rain"}]},
    ]
    alice.add(said, user_id="ann", infer=False)
    assert alice.get_all({"user_id": "ann"}) == ["I am in Oslo. Does it rain?", "It rains."]
    alice.add({"role": "user", "content": "I am alone."}, user_id="bob", infer=False)  # one message, in no list
    assert alice.get_all({"user_id": "bob"}) == ["I am alone."]
    for nothing in ([{"role": "assistant", "tool_calls": [call]}], [{"role": "user", "content": None}], [{}]):
        body = {"messages": nothing, "user_id": "ann"}
        assert alice.refused("post", "/v3/memories/add/", body)["errors"][0]["pointer"].startswith("/messages")


def test_null_is_as_good_as_left_out(alice: SdkRequests) -> None:
    names = ("infer", "metadata", "categories", "expiration_date", "timestamp", "filters", "agent_id")
    assert alice.add("Ann likes tea.", user_id="ann", **dict.fromkeys(names))["status"] == "PENDING"
    memory_id = alice.store("Ann likes milk.", user_id="ann", metadata={"a": 1}, categories=None)
    nothing = dict.fromkeys(("top_k", "limit", "threshold", "fields", "categories", "run_id"))
    assert alice.search("milk", filters={"user_id": "ann"}, **nothing) == ["Ann likes milk."]
    assert alice.get_all({"user_id": "ann"}, start_date=None, show_expired=None) == ["Ann likes milk."]
    changed = alice.ok("put", f"/v1/memories/{memory_id}/", {"text": None, "metadata": {"b": 2}})
    assert (changed["memory"], changed["metadata"]) == ("Ann likes milk.", {"b": 2})
    alice.ok("put", "/v1/batch/", {"memories": [{"memory_id": memory_id, "text": None, "metadata": None}]})
    assert alice.ok("get", f"/v1/memories/{memory_id}/")["metadata"] is None
    alice.refused("put", f"/v1/memories/{memory_id}/", {"text": None})
    alice.refused("post", "/v3/memories/search/", {"query": None, "filters": {"user_id": "ann"}})
