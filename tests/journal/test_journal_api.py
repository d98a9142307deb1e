"""The journal's API: entries, corrections, consolidation on demand, and bad input."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.journal import tasks
from apps.memories.models import JournalEntry
from tests.contract.conftest import alice, charlie, client_of

__all__ = ["alice", "charlie"]
URL = "/api/v1/journal/"
DAILY = {"granularity": "daily", "period": "2026-11-17", "instance": "desk", "text": "- Ana rang. [chat:7]"}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of tasks that were sent, which no worker runs."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(tasks.keep_journal, "delay", lambda **names: found.append(names))
    return found


def test_a_daily_is_created_then_merged(alice: APIClient) -> None:
    first = alice.post(URL, DAILY)
    again = alice.post(URL, DAILY | {"text": "- Ana rang again. [chat:7]\n- Bo came. [chat:8]"})
    assert (first.status_code, again.status_code) == (201, 200)
    entry = again.json()
    unchanged = alice.post(URL, DAILY)
    assert (unchanged.status_code, unchanged.json()["version"]) == (200, 2)
    assert entry["text"] == "- Ana rang. [chat:7]\n- Bo came. [chat:8]"
    assert (entry["id"], entry["chats"], entry["version"]) == (first.json()["id"], ["7", "8"], 2)
    assert set(entry) == {
        *("id", "granularity", "period", "title", "text", "instance", "chats", "sources"),
        *("edited_by", "version", "stale", "created_at", "updated_at"),
    }


def test_a_merge_that_adds_nothing_to_a_new_entry_creates_none(alice: APIClient) -> None:
    replies = [alice.post(URL, DAILY) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [201, 200]
    assert replies[0].json() == replies[1].json()


def test_a_bound_token_writes_the_days_of_its_instance_only(alice: APIClient) -> None:
    desk = client_of(alice.user, instance="desk")
    assert desk.post(URL, DAILY).json()["instance"] == "desk"
    assert desk.post(URL, DAILY | {"instance": ""}).json()["instance"] == "desk"
    assert desk.post(URL, DAILY | {"instance": "phone"}).status_code == 403
    assert [entry["version"] for entry in alice.get(URL).json()["results"]] == [1]


def test_what_is_written_for_a_name_of_any_length_can_be_pulled(alice: APIClient) -> None:
    alice.post("/api/v1/instances/", {"id": "desk"})
    assert alice.post(URL, DAILY | {"instance": "i" * 64}).status_code == 201
    page = alice.post("/api/v1/sync/pull/", {"instance": "desk", "since": None})
    assert page.json()["memories"][0]["instance"] == "i" * 64


def test_entries_are_listed_by_their_days(alice: APIClient) -> None:
    for day, instance in (("2026-11-17", "desk"), ("2026-11-19", "desk"), ("2026-11-18", "phone")):
        alice.post(URL, DAILY | {"period": day, "instance": instance})
    alice.post(URL, {"granularity": "significant", "period": "2026-11-18", "title": "A", "text": "It was."})

    def listed(query: str) -> list[str]:
        return [entry["period"] for entry in alice.get(f"{URL}?{query}").json()["results"]]

    assert listed("") == ["2026-11-19", "2026-11-18", "2026-11-18", "2026-11-17"]
    assert listed("granularity=significant") == ["2026-11-18"]
    assert listed("from=2026-11-18&to=2026-11-18&instance=phone") == ["2026-11-18"]
    first = alice.get(f"{URL}?limit=3").json()
    assert [entry["period"] for entry in alice.get(first["next"]).json()["results"]] == ["2026-11-17"]


@pytest.mark.parametrize("given", [{}, {"period": None}])
def test_a_significant_entry_without_a_period_is_of_today_where_its_writer_is(
    alice: APIClient, given: dict[str, Any]
) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):  # their days are never the same
        User.objects.filter(email="alice@example.com").update(time_zone=zone)
        entry = alice.post(URL, {"granularity": "significant", "text": "It was.", **given}).json()
        assert entry["period"] == dt.datetime.now(ZoneInfo(zone)).date().isoformat()
    daily = alice.post(URL, {"granularity": "daily", "text": "- It was.", **given})
    assert (daily.status_code, daily.json()["errors"][0]["pointer"]) == (400, "/period")


def test_an_entry_is_corrected_and_deleted(alice: APIClient) -> None:
    url = f"{URL}{alice.post(URL, DAILY).json()['id']}/"
    entry = alice.patch(url, {"text": "Mine."}).json()
    assert (entry["text"], entry["edited_by"], entry["version"]) == ("Mine.", "alice@example.com", 2)
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404
    assert alice.get(URL).json()["results"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"granularity": "weekly", "period": "2026-W47"}, "granularity"),
        ({"period": "2026-02-30"}, "period"),
        ({"period": 20261121}, "period"),
        ({"period": "2026-W47"}, "period"),
        ({"text": " \n"}, "text"),
        ({"text": "- [chat:7]"}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"instance": "i" * 65}, "instance"),
        ({"instance": "My phone"}, "instance"),
        ({"instance": "loci"}, "instance"),
        ({"instance": None}, "instance"),
        ({"granularity": "significant"}, "instance"),
        ({"title": "t" * 201}, "title"),
        ({"stale": True}, "stale"),
    ],
)
def test_bad_input_is_named(alice: APIClient, change: dict[str, Any], field: str) -> None:
    reply = alice.post(URL, DAILY | change)
    assert (reply.status_code, [error["pointer"] for error in reply.json()["errors"]]) == (400, [f"/{field}"])


@pytest.mark.parametrize("query", ["granularity=hourly", "from=yesterday", "from=2026-11-18&to=2026-11-17"])
def test_bad_filters_are_named(alice: APIClient, query: str) -> None:
    assert alice.get(f"{URL}?{query}").status_code == 400


def test_consolidation_tells_what_it_will_make(
    alice: APIClient, sent: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    alice.post(URL, DAILY | {"period": "2020-12-31"})
    with django_capture_on_commit_callbacks(execute=True):
        reply = alice.post(f"{URL}consolidate/", {"granularity": None, "period": None})
    made = [("weekly", "2020-W53"), ("monthly", "2020-12"), ("yearly", "2020")]
    assert (reply.status_code, reply.json()) == (
        202,
        {"periods": [{"granularity": granularity, "period": period} for granularity, period in made]},
    )
    assert sent == [{"owner_id": str(alice.user.pk), "granularity": "", "period": ""}]
    tasks.keep(alice.user, timezone.now())
    rows = JournalEntry.objects.for_owner(alice.user).exclude(granularity="daily").order_by("pk")
    assert list(rows.values_list("granularity", "period")) == made
    week = alice.get(f"{URL}{rows[0].pk}/").json()
    assert week["sources"] == [str(JournalEntry.objects.for_owner(alice.user).get(granularity="daily").pk)]
    assert alice.post(f"{URL}consolidate/", {}).json() == {"periods": []}


def test_one_period_is_made_on_demand(
    alice: APIClient, sent: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    today = timezone.now().date()
    alice.post(URL, DAILY | {"period": today.isoformat()})
    with django_capture_on_commit_callbacks(execute=True):
        body = {"granularity": "yearly", "period": str(dt.date.isocalendar(today).year)}
        periods = alice.post(f"{URL}consolidate/", body).json()["periods"]
    assert [period["granularity"] for period in periods] == ["weekly", "monthly", "yearly"]
    assert sent[0]["period"] == body["period"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"period": "2026-W47"}, "granularity"),
        ({"granularity": "daily"}, "granularity"),
        ({"granularity": "weekly", "period": "2021-W53"}, "period"),
        ({"granularity": "weekly", "period": 47}, "period"),
        ({"now": True}, "now"),
    ],
)
def test_bad_consolidations_are_named(alice: APIClient, body: dict[str, Any], field: str) -> None:
    reply = alice.post(f"{URL}consolidate/", body)
    assert (reply.status_code, [error["pointer"] for error in reply.json()["errors"]]) == (400, [f"/{field}"])


def test_the_search_finds_entries(alice: APIClient, charlie: APIClient) -> None:
    alice.post(URL, DAILY | {"text": "- Ana adopted a parrot. [chat:7]"})
    body = {"query": "Who adopted a parrot?", "tiers": ["journal"], "instance": "desk"}
    (result,) = alice.post("/api/v1/memories/search/", body).json()["results"]
    assert (result["tier"], result["memory"], result["message"]) == ("journal", None, None)
    assert result["entry"]["period"] == "2026-11-17"
    assert result["signals"]["instance"] == 1
    assert "parrot" in result["excerpt"]
    assert charlie.post("/api/v1/memories/search/", body).json()["results"] == []
    alice.delete(f"{URL}{result['entry']['id']}/")
    assert alice.post("/api/v1/memories/search/", body).json()["results"] == []


def test_the_search_narrows_entries_by_day_and_chat(alice: APIClient) -> None:
    alice.post(URL, DAILY | {"text": "- Ana adopted a parrot."})
    body = {"query": "parrot", "tiers": ["journal"]}

    def count(**narrow: str) -> int:
        return len(alice.post("/api/v1/memories/search/", body | narrow).json()["results"])

    assert count(**{"from": "2026-11-17", "to": "2026-11-17"}) == 1
    assert count(**{"from": "2026-11-18"}) == 0
    assert count(kind="fact") == 0
