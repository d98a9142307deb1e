"""Significant entries whose period a program leaves to their date."""

from typing import Any

from rest_framework.test import APIClient

from tests.instances.conftest import LATER, memory, pull, push, tombstone, try_push


def significant(clock: dict[str, int], text: str, **fields: Any) -> dict[str, Any]:
    return memory("desk", clock, text, tier="significant", period=None) | fields


def entries(client: APIClient) -> list[tuple[str, str]]:
    listed = client.get("/api/v1/journal/?granularity=significant").json()["results"]
    return [(entry["period"], entry["text"]) for entry in listed]


def test_without_a_period_an_entry_is_of_the_day_of_its_date_and_stays_there(alice: APIClient) -> None:
    assert push(alice, "desk", memories=[significant({"desk": 1}, "We met.")])["applied"] == 1
    assert entries(alice) == [("2026-11-21", "We met.")]
    edited = significant({"desk": 2}, "We met at the mill.", updated_at="2026-11-25T10:00:00Z")
    assert push(alice, "desk", memories=[edited])["applied"] == 1
    assert entries(alice) == [("2026-11-21", "We met at the mill.")]
    (pulled,) = pull(alice, "phone")["memories"]
    assert (pulled["tier"], pulled["period"]) == ("significant", "2026-11-21")


def test_an_entry_that_follows_its_tombstone_has_its_day(alice: APIClient) -> None:
    push(alice, "phone", tombstones=[tombstone("phone", {"phone": 1})])
    push(alice, "desk", memories=[significant({"phone": 1, "desk": 1}, "We met again.", updated_at=LATER)])
    assert entries(alice) == [("2026-11-21", "We met again.")]


def test_other_tiers_need_their_period(alice: APIClient) -> None:
    for tier in ("daily", "weekly", "yearly"):
        reply = try_push(alice, "desk", memories=[significant({"desk": 1}, "- It was.", tier=tier)])
        assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/memories/0/period")
