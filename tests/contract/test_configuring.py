"""Settings, modes, prompts, tests of models and vectors over HTTP."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.chats.models import Chat
from apps.extraction import tasks
from apps.extraction.models import EmbeddingJob, ModelTest
from apps.extraction.prompts.task import TASKS
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

API = "/api/v1/"
SETTINGS = f"{API}memory-settings/"


@pytest.fixture
def owned(alice: APIClient) -> Chat:
    return make_chat(alice.user, "The key is gone.", "I know.", "Where?", character=make_character(alice.user))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the tests and jobs that were sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_model_test, "delay", lambda *, test_id: found.append(test_id))
    monkeypatch.setattr(tasks.run_reembedding, "delay", lambda *, job_id: found.append(job_id))
    monkeypatch.setattr(tasks.run_reembedding, "apply_async", lambda *, kwargs, queue: found.append(kwargs["job_id"]))
    return found


def pointers(reply: Any) -> list[str]:
    assert reply.status_code == 400, reply.content
    assert reply["Content-Type"] == "application/problem+json"
    return [error["pointer"] for error in reply.json()["errors"]]


# Settings


def test_settings_hold_from_the_user_over_the_character_to_the_chat(alice: APIClient, owned: Chat) -> None:
    of_character = f"{API}characters/{owned.character_id}/memory-settings/"
    of_chat = f"{API}chats/{owned.pk}/memory-settings/"
    first = alice.get(SETTINGS).json()
    assert first["own"] == {}
    assert (first["effective"]["profile"], first["effective"]["extract_every"]) == ("A", 3)
    changed = alice.patch(SETTINGS, {"extract_every": 5, "arcs": False, "session_cap": 12}).json()
    assert changed["own"] == {"extract_every": 5, "arcs": False, "session_cap": 12}
    assert alice.patch(of_character, {"extract_every": 6}).json()["effective"]["session_cap"] == 12
    reply = alice.patch(of_chat, {"extract_every": 7}).json()
    assert reply["own"] == {"extract_every": 7}
    assert reply["effective"] | {"extract_every": 7, "session_cap": 12, "arcs": False} == reply["effective"]
    assert alice.patch(of_chat, {"extract_every": None}).json()["effective"]["extract_every"] == 6
    assert alice.get(of_chat).json()["own"] == {}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"extract_every": 0}, ["/extract_every"]),
        ({"extract_every": "5"}, ["/extract_every"]),
        ({"extract_every": True}, ["/extract_every"]),
        ({"duplicate": 2, "arcs": "yes"}, ["/duplicate", "/arcs"]),
        ({"profile": "C"}, ["/profile"]),
        ({"colour": 1}, ["/colour"]),
        ({"colour": None}, ["/colour"]),
        ([], [""]),
    ],
)
def test_a_setting_that_can_not_be_is_named_and_nothing_is_stored(alice: APIClient, change: Any, wrong: Any) -> None:
    body = change | {"session_cap": 9} if isinstance(change, dict) else change
    assert pointers(alice.patch(SETTINGS, body)) == wrong
    assert alice.get(SETTINGS).json()["own"] == {}


@pytest.mark.parametrize("scope", ["", "characters/{character}/", "chats/{chat}/"])
def test_settings_that_have_changed_since_the_integrity_are_a_409(alice: APIClient, owned: Chat, scope: str) -> None:
    url = f"{API}{scope.format(character=owned.character_id, chat=owned.pk)}memory-settings/"
    start = alice.get(url).json()["integrity"]
    first = alice.patch(url, {"integrity": start, "extract_every": 5}).json()
    assert (first["own"], first == alice.get(url).json()) == ({"extract_every": 5}, True)
    stale = alice.patch(url, {"integrity": start, "session_cap": 12})
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/integrity-conflict")
    assert (stale.json()["current_integrity"], stale.json()["own"]) == (first["integrity"], {"extract_every": 5})
    assert alice.get(url).json() == first
    # The retry of a write that was stored changes nothing.
    assert alice.patch(url, {"integrity": start, "extract_every": 5}).json() == first
    for unguarded in ({}, {"integrity": None}):
        assert alice.patch(url, unguarded | {"session_cap": 12}).status_code == 200
    assert pointers(alice.patch(url, {"integrity": "soon", "session_cap": 13})) == ["/integrity"]


def test_settings_are_ones_own(alice: APIClient, charlie: APIClient, owned: Chat) -> None:
    alice.patch(SETTINGS, {"extract_every": 5})
    assert charlie.get(SETTINGS).json()["own"] == {}
    assert charlie.patch(f"{API}chats/{owned.pk}/memory-settings/", {"extract_every": 9}).status_code == 404
    assert charlie.get(f"{API}characters/{owned.character_id}/memory-settings/").status_code == 404


def test_a_reader_changes_nothing(alice: APIClient) -> None:
    reader = client_of(alice.user, scope="read")
    assert reader.get(SETTINGS).status_code == 200
    assert reader.patch(SETTINGS, {"extract_every": 5}).status_code == 403
    assert reader.put(f"{API}prompts/arcs/", {"text": "{{open}} {{transcript}}"}).status_code == 403
    assert reader.post(f"{API}model-tests/", {"connection": None}).status_code == 403


# Modes


def test_a_chat_is_made_read_only_and_learns_again(alice: APIClient, owned: Chat) -> None:
    url = f"{API}chats/{owned.pk}/memory-mode/"
    last = owned.messages.order_by("-index").first()
    assert alice.get(url).json() == {"mode": "full", "read_only_since": None, "fresh_start": None}
    assert alice.patch(url, {"mode": "read_only"}).json()["read_only_since"] == str(last.pk)
    assert alice.post(f"{API}chats/{owned.pk}/extract/").status_code == 202
    assert alice.patch(url, {"mode": "full", "learn": False}).json()["mode"] == "full"
    assert owned.progress.count() == 3


@pytest.mark.parametrize("body", [{}, {"mode": "off"}, {"mode": None}, {"mode": "full", "learn": "no"}, {"x": 1}])
def test_a_mode_that_there_is_not_is_refused(alice: APIClient, owned: Chat, body: dict[str, Any]) -> None:
    assert pointers(alice.patch(f"{API}chats/{owned.pk}/memory-mode/", body))


def test_a_fresh_start_sets_aside_and_is_undone(alice: APIClient, owned: Chat) -> None:
    url = f"{API}chats/{owned.pk}/fresh-start/"
    kept = make_memory(owned, "Mira lives in Lyon.")
    aside = make_memory(owned, "They met at sea.", tier="session", kind="scene")
    assert alice.post(url).json()["fresh_start"]
    kept.refresh_from_db()
    aside.refresh_from_db()
    assert (kept.state, aside.state) == (Memory.State.ACTIVE, Memory.State.RETIRED)
    assert alice.delete(url).json()["fresh_start"] is None
    aside.refresh_from_db()
    assert aside.state == Memory.State.ACTIVE


# Prompts


def test_every_task_has_its_template(alice: APIClient) -> None:
    found = alice.get(f"{API}prompts/").json()["results"]
    assert [one["task"] for one in found] == list(TASKS)
    one = alice.get(f"{API}prompts/arcs/").json()
    assert one in found
    assert one.keys() == {"task", "description", "text", "default", "is_own", "placeholders"}
    assert one["text"] == one["default"]
    assert not one["is_own"]
    assert {"name": "open", "required": True, "meaning": "the open threads, numbered"} in one["placeholders"]


def test_a_template_is_replaced_and_taken_back(alice: APIClient, charlie: APIClient) -> None:
    url, mine = f"{API}prompts/arcs/", "Mine: {{open}} {{transcript}}"
    reply = alice.put(url, {"text": mine}).json()
    assert (reply["text"], reply["is_own"]) == (mine, True)
    assert alice.get(url).json() == reply
    assert not charlie.get(url).json()["is_own"]
    charlie.delete(url)
    assert alice.get(url).json() == reply
    assert alice.delete(url).json()["is_own"] is False
    assert alice.put(url, {"text": reply["default"]}).json()["is_own"] is False


@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": "no placeholders"}, {"text": "{{open}} {{transcript}} {{x}}"}, {"text": 1}, {}]
)
def test_a_template_that_can_not_serve_is_refused(alice: APIClient, body: dict[str, Any]) -> None:
    assert set(pointers(alice.put(f"{API}prompts/arcs/", body))) == {"/text"}
    assert not alice.get(f"{API}prompts/arcs/").json()["is_own"]


def test_there_is_no_template_for_a_task_that_there_is_not(alice: APIClient) -> None:
    url = f"{API}prompts/poetry/"
    replies = [alice.get(url), alice.put(url, {"text": "x"}), alice.delete(url)]
    assert [reply.status_code for reply in replies] == [404, 404, 404]


# Tests of models


def test_a_test_is_started_read_and_cancelled(
    alice: APIClient, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        reply = alice.post(f"{API}model-tests/", {"connection": None})
    test = reply.json()
    assert reply.status_code == 202
    assert sent == [test["id"]]
    assert (test["state"], test["backend"], test["done"]) == ("queued", "builtin", 0)
    assert alice.get(f"{API}model-tests/{test['id']}/").json() == test
    assert [one["id"] for one in alice.get(f"{API}model-tests/").json()["results"]] == [test["id"]]
    assert alice.post(f"{API}model-tests/", {"connection": None}).status_code == 409
    cancelled = alice.post(f"{API}model-tests/{test['id']}/cancel/").json()
    assert cancelled["state"] == "cancelled"
    assert alice.post(f"{API}model-tests/{test['id']}/cancel/").json() == cancelled
    assert alice.post(f"{API}model-tests/", {"connection": None}).status_code == 202


def test_a_test_that_has_ended_tells_its_score(alice: APIClient) -> None:
    test = alice.post(f"{API}model-tests/", {"connection": None}).json()
    tasks.run_model_test(test_id=test["id"])
    ended = alice.get(f"{API}model-tests/{test['id']}/").json()
    assert ended["state"] == "succeeded"
    assert ended["results"]["schema_version"] == 1
    assert ended["results"]["tiers"][0].keys() >= {"task", "score", "verdict", "hints", "raw"}


@pytest.mark.parametrize("body", [{}, {"connection": "x"}, {"connection": 1}, {"connection": None, "x": 1}])
def test_a_test_of_nothing_is_refused(alice: APIClient, body: dict[str, Any]) -> None:
    assert pointers(alice.post(f"{API}model-tests/", body))
    assert not ModelTest.objects.for_owner(alice.user).exists()


def test_another_users_connection_is_not_tested(alice: APIClient, charlie: APIClient) -> None:
    connection = {"name": "Home", "backend": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "small"}
    made = alice.post(f"{API}connections/", connection).json()
    assert pointers(charlie.post(f"{API}model-tests/", {"connection": made["id"]})) == ["/connection"]


# Vectors


def test_vectors_are_made_anew_on_demand(
    alice: APIClient, owned: Chat, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    url = f"{API}reembedding/"
    assert alice.get(url).json() == {"model": "all-MiniLM-L6-v2", "waiting": 0, "job": None}
    assert alice.post(url).status_code == 200
    make_memory(owned, "Mira lives in Lyon.")
    assert alice.get(url).json()["waiting"] == 1
    with django_capture_on_commit_callbacks(execute=True):
        reply = alice.post(url)
    job = reply.json()["job"]
    assert reply.status_code == 202
    assert sent == [job["id"]]
    assert (job["state"], job["total"], job["model"]) == ("queued", 1, "all-MiniLM-L6-v2")
    assert alice.post(url).json()["job"]["id"] == job["id"]
    assert alice.post(f"{url}cancel/").json()["job"]["state"] == "cancelled"
    assert alice.post(f"{url}cancel/").status_code == 200
    alice.post(url)
    tasks.run_reembedding(job_id=str(EmbeddingJob.objects.for_owner(alice.user).latest("pk").pk))
    ended = alice.get(url).json()
    assert (ended["waiting"], ended["job"]["state"], ended["job"]["done"]) == (0, "succeeded", 1)


def test_vectors_are_ones_own(alice: APIClient, owned: Chat) -> None:
    make_memory(owned, "Mira lives in Lyon.")
    alice.post(f"{API}reembedding/")
    stranger = client_of(UserFactory())
    assert stranger.get(f"{API}reembedding/").json() == {"model": "all-MiniLM-L6-v2", "waiting": 0, "job": None}
    stranger.post(f"{API}reembedding/cancel/")
    assert alice.get(f"{API}reembedding/").json()["job"]["state"] == "queued"
