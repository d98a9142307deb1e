"""Instances go on syncing after their account was restored, and get what the restore has changed."""

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.snapshots.models import Snapshot
from tests.contract.conftest import client_of
from tests.factories import UserFactory
from tests.instances.conftest import KEY, LATER, daily, file, memory, pull, push
from tests.snapshots.making import made, restored

SECOND = KEY.replace("1", "2")
DAY = KEY.replace("1", "3")


@pytest.fixture
def alice(transactional_db: None) -> APIClient:
    return account("alice@example.com")


def account(email: str) -> APIClient:
    client = client_of(User.objects.create_user(email))
    for name in ("desk", "phone"):
        assert client.post("/api/v1/instances/", {"id": name}).status_code == 201
    return client


def write_early(alice: APIClient) -> None:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})], identity=[file("desk", {"desk": 2}, "early")])
    push(alice, "phone", memories=[daily("phone", {"phone": 1}, "- Rose.", id=DAY)])


def write_late(alice: APIClient) -> dict[str, int]:
    """Change a memory and a file, and write a second memory. Return the clock of both instances, which know all."""
    late = memory("desk", {"desk": 3}, "The key is gold.")
    second = memory("desk", {"desk": 4}, "It rained.", id=SECOND)
    push(alice, "desk", memories=[late, second], identity=[file("desk", {"desk": 5}, "late", LATER)])
    push(alice, "phone", memories=[memory("phone", {"desk": 4, "phone": 2}, "It poured.", id=SECOND)])
    pull(alice, "phone")
    return pull(alice, "desk")["clock"]


def test_instances_get_what_a_restore_has_changed_and_go_on_with_their_clocks(alice: APIClient) -> None:
    write_early(alice)
    snapshot = made(alice.user)
    since = write_late(alice)
    assert alice.post("/api/v1/instances/", {"id": "tablet"}).status_code == 201
    assert restored(snapshot).state == "succeeded"
    page = pull(alice, "desk", since)
    assert {each["text"] for each in page["memories"]} == {"The key is silver."}
    assert [each["content"] for each in page["identity"]] == ["early"]
    assert [each["id"] for each in page["tombstones"]] == [SECOND]
    for entry in (*page["memories"], *page["identity"], *page["tombstones"]):
        assert entry["clock"]["desk"] >= 3
        assert entry["clock"]["loci"] > since["loci"]
    assert page["clock"].items() >= {"desk": 5, "phone": 2}.items()
    assert pull(alice, "desk", page["clock"]) | {"clock": {}} == {
        "clock": {}, "identity": [], "memories": [], "tombstones": [], "next": None
    }  # fmt: skip
    # What knows of the restore wins, what was written offline meanwhile is not lost, and replays change nothing.
    clock = page["memories"][0]["clock"]
    reply = push(alice, "desk", memories=[memory("desk", clock | {"desk": 6}, "The key is iron.")])
    assert (reply["applied"], reply["conflicts"]) == (1, [])
    reply = push(alice, "phone", memories=[memory("phone", {"desk": 4, "phone": 3}, "It hailed.", id=SECOND)])
    assert reply["applied"] == 1
    assert push(alice, "desk", memories=[memory("desk", {"desk": 3}, "The key is gold.")])["applied"] == 0
    assert pull(alice, "tablet")["clock"]["desk"] == 6


def test_taking_a_restore_back_is_a_change_like_any_other(alice: APIClient) -> None:
    write_early(alice)
    snapshot = made(alice.user)
    write_late(alice)
    safety = restored(snapshot).safety
    since = pull(alice, "desk")["clock"]
    assert safety is not None
    assert restored(safety).state == "succeeded"
    page = pull(alice, "desk", since)
    assert {each["text"] for each in page["memories"]} == {"The key is gold.", "It poured."}
    assert [each["content"] for each in page["identity"]] == ["late"]
    assert page["tombstones"] == []


def test_what_a_restore_leaves_as_it_was_is_not_sent_again(alice: APIClient) -> None:
    write_early(alice)
    since = pull(alice, "desk")["clock"]
    assert restored(made(alice.user)).state == "succeeded"
    page = pull(alice, "desk", since)
    assert (page["memories"], page["identity"], page["tombstones"]) == ([], [], [])


def test_the_archive_of_another_account_replaces_what_instances_know(alice: APIClient) -> None:
    write_early(alice)
    made(alice.user)
    bob = account("bob@example.com")
    push(bob, "phone", memories=[daily("phone", {"phone": 1}, "- Slept.", id=SECOND)])
    push(bob, "desk", identity=[file("desk", {"desk": 1}, "Bob's")])
    since = pull(bob, "desk")["clock"]
    Snapshot.objects.for_owner(alice.user).update(owner=bob.user)  # as if Bob had uploaded Alice's file
    assert restored(Snapshot.objects.for_owner(bob.user).get()).state == "succeeded"
    page = pull(bob, "desk", since)
    assert {each["text"] for each in page["memories"]} == {"The key is silver.", "- Rose."}
    assert [each["content"] for each in page["identity"]] == ["early"]
    assert [each["id"] for each in page["tombstones"]] == [SECOND]
    entry = daily("phone", {"phone": 2}, "- Rose.\n- Ran.", id=page["memories"][1]["id"])
    push(bob, "phone", memories=[entry])
    assert "- Rose.\n- Ran." in {each["text"] for each in pull(bob, "desk")["memories"]}


def test_an_archive_restored_into_an_empty_account_has_the_clocks_of_the_archive(alice: APIClient) -> None:
    write_early(alice)
    since = pull(alice, "desk")["clock"]
    made(alice.user)
    carol = client_of(UserFactory())
    Snapshot.objects.for_owner(alice.user).update(owner=carol.user)
    assert restored(Snapshot.objects.for_owner(carol.user).get()).state == "succeeded"
    assert pull(carol, "desk")["clock"] == since
