"""Pushes and pulls that are not valid get a 4xx that names the field, and change nothing."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.scoping import system_scope
from apps.instances.models import Item
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.instances.conftest import KEY, daily, file, memory, pull, push, tombstone, try_push

BAD_CLOCKS: list[Any] = [
    None, [], "x", {}, {"desk": 0}, {"desk": -1}, {"desk": 2**53}, {"desk": 10**400}, {"desk": True}, {"desk": 1.0},
    {"desk": "1"}, {"desk": None}, {"desk": 1, "nobody": 1}, {"desk": 1, "phone": 1}, {"desk": 1, "loci": 9},
    {"phone": 1}, {str(number): 1 for number in range(300)},
]  # fmt: skip


@pytest.mark.parametrize("clock", BAD_CLOCKS)
def test_a_clock_that_nobody_can_have_seen_is_refused(alice: APIClient, clock: Any) -> None:
    for part, entry in (("memories", memory), ("tombstones", tombstone)):
        reply = try_push(alice, "desk", **{part: [entry("desk", clock)]})
        assert reply.status_code == 400, reply.content
        assert all(error["pointer"].startswith(f"/{part}/0/") for error in reply.json()["errors"])
    with system_scope():
        assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("part", "entry", "field"),
    [
        ("memories", memory("phone", {"phone": 1}), "instance"),
        ("memories", daily("phone", {"desk": 1}, "- x"), "instance"),
        ("memories", memory("desk", {"desk": 1}, tier="session"), "tier"),
        ("memories", memory("desk", {"desk": 1}, tier="weekly", period="2026-W54"), "period"),
        ("memories", memory("desk", {"desk": 1}, tier="daily"), "period"),
        ("memories", memory("desk", {"desk": 1}, period="2026"), "period"),
        ("memories", memory("desk", {"desk": 1}, " "), "text"),
        ("memories", memory("desk", {"desk": 1}, "x" * 4001), "text"),
        ("memories", memory("desk", {"desk": 1}, id="1"), "id"),
        ("memories", memory("desk", {"desk": 1}, updated_at="0001-01-01T00:00:00+14:00"), "updated_at"),
        ("identity", file("desk", {"desk": 1}, "x") | {"filename": "../x"}, "filename"),
        ("identity", file("desk", {"desk": 1}, "x") | {"category": "other"}, "category"),
        ("tombstones", {**tombstone("desk", {"desk": 1}), "kind": "identity"}, "id"),
        ("tombstones", {**tombstone("desk", {"desk": 1}), "extra": 1}, "extra"),
    ],
)
def test_an_entry_that_is_not_valid_is_refused(alice: APIClient, part: str, entry: dict[str, Any], field: str) -> None:
    reply = try_push(alice, "desk", **{part: [entry]})
    assert reply.status_code == 400, reply.content
    assert f"/{part}/0/{field}" in [error["pointer"] for error in reply.json()["errors"]]


def test_one_bad_entry_refuses_the_whole_push(alice: APIClient) -> None:
    entries = [memory("desk", {"desk": 1}), memory("desk", {"phone": 1}, id=KEY.replace("1", "2"))]
    assert try_push(alice, "desk", memories=entries).status_code == 400
    assert alice.get("/api/v1/memories/").json()["results"] == []


def test_a_huge_push_is_refused_with_the_limit(alice: APIClient) -> None:
    reply = try_push(alice, "desk", tombstones=[{}] * 1001)
    assert reply.status_code == 413
    assert "1000" in reply.json()["detail"]


def test_an_unknown_or_removed_instance_neither_pulls_nor_pushes(alice: APIClient) -> None:
    assert alice.delete("/api/v1/instances/phone/").status_code == 204
    for name in ("phone", "nobody", "loci"):
        for url in ("pull", "push"):
            body = {"instance": name} | ({"clock": {}} if url == "push" else {"since": None})
            reply = alice.post(f"/api/v1/sync/{url}/", body)
            assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/instance")


def test_an_instance_that_comes_back_goes_on_with_its_counter(alice: APIClient) -> None:
    push(alice, "phone", memories=[memory("phone", {"phone": 7})])
    alice.delete("/api/v1/instances/phone/")
    push(alice, "desk", memories=[memory("desk", {"desk": 1, "phone": 7}, "Gold.")])
    assert alice.post("/api/v1/instances/", {"id": "phone"}).json()["clock"] == {"phone": 7}
    assert alice.post("/api/v1/instances/", {"id": "phone"}).status_code == 409


@pytest.mark.parametrize("name", ["loci", "", "Desk", "a b", "a" * 65, "é", "a\n", 1, None])
def test_a_name_that_is_not_valid_is_refused(alice: APIClient, name: Any) -> None:
    reply = alice.post("/api/v1/instances/", {"id": name})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/id")


def test_a_bound_token_syncs_in_no_other_name(alice: APIClient) -> None:
    desk = client_of(alice.user, instance="desk")
    push(desk, "desk", memories=[memory("desk", {"desk": 1})])
    assert try_push(desk, "phone", memories=[]).status_code == 403
    assert desk.post("/api/v1/sync/pull/", {"instance": "phone", "since": None}).status_code == 403


def test_a_reader_pulls_and_does_not_push(alice: APIClient) -> None:
    reader = client_of(alice.user, scope="read")
    assert pull(reader, "desk")["memories"] == []
    assert try_push(reader, "desk").status_code == 403


def test_ids_of_others_and_of_what_is_not_shared_are_refused_and_untouched(alice: APIClient) -> None:
    charlie = User.objects.create_user("charlie@example.com")
    common = {"id": KEY, "tier": "long_term", "kind": "fact", "text": "His."}
    theirs = Memory.objects.create(owner_id=charlie.pk, **common)
    reply = try_push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/memories/0/id")
    push(alice, "desk", tombstones=[tombstone("desk", {"desk": 1})])
    with system_scope():
        theirs.refresh_from_db()
    assert (theirs.owner_id, theirs.text, theirs.deleted_at) == (charlie.pk, "His.", None)


@pytest.mark.parametrize(
    "entry",
    [
        memory("desk", {"desk": 1}, "Not a day."),
        daily("desk", {"desk": 1}, "- Of another day.", period="2026-11-21"),
        memory("desk", {"desk": 1}, tier="weekly", period="2026-W47"),
    ],
)
def test_an_id_names_no_memory_of_another_tier_or_period(alice: APIClient, entry: dict[str, Any]) -> None:
    push(alice, "phone", memories=[daily("phone", {"phone": 1}, "- Rose.")])
    reply = try_push(alice, "desk", memories=[entry])
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/memories/0/id")
    assert [each["text"] for each in pull(alice, "desk")["memories"]] == ["- Rose."]


def test_it_says_what_is_stored_under_an_id(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    reply = try_push(alice, "desk", memories=[memory("desk", {"desk": 2}, tier="weekly", period="2026-W47")])
    assert reply.json()["errors"][0]["detail"] == "It is the id of what is stored as long_term."


@pytest.mark.parametrize("query", ["?limit=0", "?limit=1001", "?limit=x", "?cursor=-1", "?cursor=x"])
def test_a_bad_page_is_refused(alice: APIClient, query: str) -> None:
    assert alice.post(f"/api/v1/sync/pull/{query}", {"instance": "desk", "since": None}).status_code == 400


def test_a_clock_from_the_future_is_refused(alice: APIClient) -> None:
    reply = alice.post("/api/v1/sync/pull/", {"instance": "desk", "since": {"loci": 9}})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/since")


@pytest.mark.parametrize(("path", "field"), [("other/x", "category"), ("self/.x", "filename"), ("self/ ", "filename")])
def test_an_identity_file_with_a_bad_name_is_refused(alice: APIClient, path: str, field: str) -> None:
    reply = alice.put(f"/api/v1/identity/{path}/", {"content": "x"})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, f"/{field}")
