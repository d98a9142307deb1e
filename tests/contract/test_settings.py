"""A person's settings: keys of their own, so that devices don't collide, under the rules of integrity."""

import json
import threading
import uuid
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.snapshots.models import Snapshot
from apps.sync import settings_documents
from apps.sync.models import SettingsChange
from tests.contract.conftest import client_of
from tests.snapshots.making import latest_rows

URL = "/api/v1/settings/"


def read(client: APIClient) -> dict[str, Any]:
    reply = client.get(URL)
    assert reply.status_code == 200, reply.content
    return reply.json()


def merge(client: APIClient, integrity: str | None, settings: Any, **envelope: Any) -> Any:
    return client.patch(URL, {"integrity": integrity, "settings": settings} | envelope)


def operate(client: APIClient, integrity: str | None, *operations: Any, **envelope: Any) -> Any:
    body = {"integrity": integrity, "operations": operations} | envelope
    return client.generic("PATCH", URL, json.dumps(body), content_type="application/json-patch+json")


@pytest.fixture
def start(alice: APIClient) -> str:
    """The integrity of Alice's settings as they first are."""
    return read(alice)["integrity"]


def test_they_begin_empty_and_stay_ones_own(alice: APIClient, charlie: APIClient, start: str) -> None:
    assert read(alice) == {"integrity": start, "rev": 0, "settings": {}, "revs": {}}
    merge(alice, start, {"theme": "dark"})
    assert read(charlie)["settings"] == {}
    assert merge(charlie, start, {"theme": "light"}).status_code == 409


def test_a_merge_is_deep_and_counts_the_revs(alice: APIClient, start: str) -> None:
    first = merge(alice, start, {"ui": {"size": 1, "font": "a"}, "presets": {"x": 1}, "gone": None}).json()
    assert (first["rev"], first["revs"]) == (1, {"ui": 1, "presets": 1})
    second = merge(alice, first["integrity"], {"ui": {"size": 2}, "presets": None}).json()
    assert second["settings"] == {"ui": {"size": 2, "font": "a"}}
    assert (second["rev"], second["revs"]) == (2, {"ui": 2})
    assert second == read(alice)


def test_other_keys_never_collide_in_a_rebase(alice: APIClient, start: str) -> None:
    merge(alice, start, {"volume": 1})
    assert merge(alice, start, {"brightness": 2}, on_conflict="rebase").status_code == 200
    assert read(alice)["settings"] == {"volume": 1, "brightness": 2}


def test_the_same_key_is_a_conflict_that_tells_theirs(alice: APIClient, start: str) -> None:
    first = merge(alice, start, {"volume": 1}).json()
    second = merge(alice, first["integrity"], {"gone": 1}).json()
    now = merge(alice, second["integrity"], {"gone": None}).json()
    reply = merge(alice, start, {"volume": 2, "gone": 3, "mine": 4}, on_conflict="rebase")
    assert reply.status_code == 409
    problem = reply.json()
    assert problem["type"] == "/problems/integrity-conflict"
    assert problem["conflicts"] == [{"key": "gone", "theirs": None}, {"key": "volume", "theirs": 1}]
    assert (problem["current_integrity"], problem["current_rev"]) == (now["integrity"], 3)
    assert [(change["rev"], change["settings"], change["deleted"]) for change in problem["changes"]] == [
        (1, {"volume": 1}, []),
        (2, {}, []),
        (3, {}, ["gone"]),
    ]
    assert read(alice)["settings"] == {"volume": 1}


def test_a_conflict_tells_a_key_once_and_is_bounded(
    alice: APIClient, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = start
    for number in range(20):
        now = merge(alice, now, {"notes": f"{number} {'x' * 5000}"}).json()["integrity"]
    reply = merge(alice, start, {"mine": 1})
    assert (reply.status_code, len(reply.json()["changes"])) == (409, 20)
    assert len(reply.content) < 12_000
    monkeypatch.setattr(settings_documents, "PAGE_BYTES", 5000)
    problem = merge(alice, start, {"mine": 1}).json()
    assert ("changes" in problem, problem["reread"]) == (False, True)


@pytest.mark.parametrize("envelope", [{}, {"on_conflict": "fail"}])
def test_an_integrity_that_is_behind_is_a_409_unless_a_rebase_is_asked_for(
    alice: APIClient, start: str, envelope: dict[str, Any]
) -> None:
    now = merge(alice, start, {"volume": 1}).json()
    reply = merge(alice, start, {"brightness": 2}, **envelope)
    assert (reply.status_code, reply.json()["type"]) == (409, "/problems/integrity-conflict")
    assert (reply.json()["conflicts"], reply.json()["current_integrity"]) == ([], now["integrity"])
    assert [change["settings"] for change in reply.json()["changes"]] == [{"volume": 1}]
    assert operate(alice, start, {"op": "add", "path": "/brightness", "value": 2}).status_code == 409
    assert read(alice) == now


def test_a_forced_write_keeps_a_snapshot_and_says_so_in_the_log(alice: APIClient, start: str) -> None:
    before = merge(alice, start, {"volume": 1, "theme": "dark"}).json()
    forced = merge(alice, start, {"volume": 2}, force=True)
    assert (forced.status_code, forced.json()["settings"]) == (200, {"volume": 2, "theme": "dark"})
    assert [row["rev"] for row in latest_rows(alice.user, "sync.SettingsDocument")] == [before["rev"]]
    values = {row["key"]: row["value"] for row in latest_rows(alice.user, "sync.Setting")}
    assert values == {"volume": 1, "theme": "dark"}
    log = SettingsChange.objects.for_owner(alice.user).order_by("rev")
    assert list(log.values_list("rev", "forced")) == [(0, False), (1, False), (2, True)]
    # Nothing is overwritten, so nothing is kept.
    merge(alice, start, {"volume": 2}, force=True)
    assert Snapshot.objects.for_owner(alice.user).count() == 1


def test_without_a_known_integrity_nothing_is_written(alice: APIClient, start: str) -> None:
    assert merge(alice, None, {"a": 1}).status_code == 428
    reply = merge(alice, str(uuid.uuid4()), {"a": 1})
    assert reply.status_code == 409
    assert "changes" not in reply.json()
    assert read(alice)["settings"] == {}


def test_what_is_in_effect_already_is_no_write(alice: APIClient, start: str) -> None:
    first = merge(alice, start, {"a": {"b": 1}}).json()
    again = merge(alice, start, {"a": {"b": 1}})
    assert (again.status_code, again.json()) == (200, first)
    assert merge(alice, start, {"a": {"b": True}}).status_code == 409


def test_operations_begin_at_a_key(alice: APIClient, start: str) -> None:
    first = merge(alice, start, {"list": [1], "ui": {"a/b": 1}}).json()
    reply = operate(
        alice,
        first["integrity"],
        {"op": "test", "path": "/ui/a~1b", "value": 1},
        {"op": "add", "path": "/list/-", "value": 2},
        {"op": "add", "path": "/nothing", "value": None},
        {"op": "move", "from": "/ui/a~1b", "path": "/moved"},
    )
    assert reply.status_code == 200, reply.content
    assert reply.json()["settings"] == {"list": [1, 2], "ui": {}, "nothing": None, "moved": 1}
    late = operate(alice, start, {"op": "add", "path": "/list/-", "value": 3})
    assert (late.status_code, late.json()["conflicts"]) == (409, [{"key": "list", "theirs": [1, 2]}])
    whole = operate(alice, reply.json()["integrity"], {"op": "replace", "path": "", "value": {}})
    assert (whole.status_code, whole.json()["errors"][0]["pointer"]) == (400, "/operations")
    failed = operate(alice, reply.json()["integrity"], {"op": "test", "path": "/moved", "value": True})
    assert (failed.status_code, failed.json()["type"]) == (409, "/problems/patch-test-failed")


def test_sizes_are_limited_by_key_and_in_all(alice: APIClient, start: str, settings: Any) -> None:
    settings.SETTINGS_KEY_MAX_BYTES, settings.SETTINGS_MAX_BYTES = 100, 150
    for wrong, name in (
        ({"a": "x" * 101}, "SETTINGS_KEY_MAX_BYTES"),
        ({"a": "x" * 90, "b": "x" * 90}, "SETTINGS_MAX_BYTES"),
    ):
        reply = merge(alice, start, wrong)
        assert reply.status_code == 413
        assert name in reply.json()["detail"]
    long = merge(alice, start, {"k" * 256: 1})
    assert (long.status_code, long.json()["errors"][0]["pointer"]) == (400, "/settings/" + "k" * 256)
    assert read(alice)["settings"] == {}


@pytest.mark.parametrize("settings", [None, [], "x", 1])
def test_settings_are_an_object(alice: APIClient, start: str, settings: Any) -> None:
    reply = merge(alice, start, settings)
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/settings")


@pytest.mark.django_db(transaction=True)
def test_devices_at_once_lose_nothing() -> None:
    """The first writes of all, too: they race to make the document."""
    alice = User.objects.create_user("alice@example.com")
    devices = [client_of(alice) for _ in range(8)]
    failures: list[Any] = []

    def write(number: int) -> None:
        try:
            integrity = read(devices[number])["integrity"]
            for step in range(4):
                reply = merge(devices[number], integrity, {f"slider{number}": step}, on_conflict="rebase")
                if reply.status_code != 200:
                    failures.append(reply.content)
                integrity = reply.json().get("integrity", integrity)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    final = read(devices[0])
    assert final["settings"] == {f"slider{number}": 3 for number in range(8)}
    assert final["rev"] == 32
