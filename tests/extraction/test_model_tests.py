"""Jobs of model tests: one at a time, cancellable, without access to memories."""

import datetime as dt
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from apps.accounts.models import User
from apps.common import jobs
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import system_scope
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, ModelCall, ModelTest
from apps.extraction.prompts.rendering import set_template
from apps.extraction.settings.plans import ReadingPlan, billions_of, plan_for
from apps.extraction.settings.schema import Settings
from apps.extraction.suitability import model_tests
from apps.extraction.suitability.running import question_count
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.models import Connection
from apps.llm.operations import create_connection, delete_connection, use_for
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Memory, Relationship, Scene, VersionedText
from tests.extraction.test_suitability import GOOD_REPLIES
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.llm.scripted_server import Reply, ScriptedServer

REMEMBERED = (Memory, Entity, Arc, Scene, LedgerEntry, Knowledge, Relationship, VersionedText, ExtractionRun, ModelCall)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer("NONE") as server:
        yield server


@pytest.fixture
def connection(owner: User, server: ScriptedServer) -> Connection:
    return create_connection(owner, name="Scripted", base_url=f"{server.url}/v1", model="scripted-small", timeout=5)


def completed(test: ModelTest) -> ModelTest:
    model_tests.execute(test.pk)
    test.refresh_from_db()
    return test


def everything_remembered() -> dict[str, list[Any]]:
    with system_scope():
        return {model.__name__: list(model.objects.order_by("pk").values()) for model in REMEMBERED}


def test_the_built_in_backend_is_tested_and_scored(owner: User) -> None:
    test = completed(model_tests.start_test(owner, None))
    assert (test.state, test.done, test.total) == ("succeeded", question_count("builtin"), question_count("builtin"))
    assert (test.backend, test.model, test.error) == ("builtin", "builtin", "")
    results = test.results
    assert results["schema_version"] == 1
    assert len(results["tiers"]) == question_count("builtin")
    assert results["score"] == round(sum(tier["score"] for tier in results["tiers"]) / question_count("builtin"))
    assert results["score"] > 0
    assert {"task", "score", "verdict", "hints", "raw"} <= results["tiers"][0].keys()


def test_an_unsuitable_model_comes_with_what_to_do_now(owner: User, connection: Connection) -> None:
    test = completed(model_tests.start_test(owner, connection))
    assert test.results["verdict"] == "unsuitable"
    site = Client()
    site.force_login(owner)
    page = f"/settings/models/test/{test.pk}/"
    edit = f"/settings/models/{connection.pk}/"
    assert site.get(page).content.decode().count(f'href="{edit}"') == 2
    assertNotContains(site.get(page), "Use the built-in extractor")  # it is used already
    use_for(connection, generation=True)
    assertContains(site.get(page), "Use the built-in extractor")


def test_the_users_templates_are_used(owner: User, connection: Connection, server: ScriptedServer) -> None:
    set_template(owner, "arcs", "My own words. {{open}} {{transcript}}")
    test = completed(model_tests.start_test(owner, connection))
    assert (test.state, test.backend, test.model) == ("succeeded", "openai", "scripted-small")
    assert sum("My own words." in request.prompt for request in server.requests) == 1
    assert [tier["raw"] for tier in test.results["tiers"]] == ["NONE"] * question_count("openai")


def test_a_model_reads_as_its_newest_test_has_found(
    owner: User, connection: Connection, server: ScriptedServer
) -> None:
    backend = ConnectedBackend(connection)
    small, large = Settings(profile="A"), Settings(profile="B")
    set_by_hand = Settings(profile="A", reading="one")

    def choices() -> list[ReadingPlan]:
        return [plan_for(owner, settings, backend) for settings in (small, large, set_by_hand)]

    assert choices() == [ReadingPlan.SEPARATE, ReadingPlan.ONE, ReadingPlan.ONE]
    test = completed(model_tests.start_test(owner, connection))
    assert test.results["plan"] == "builtin", "it found nothing at all"
    site = Client()
    site.force_login(owner)
    assertContains(site.get(f"/settings/models/test/{test.pk}/"), "The built-in extractor does better.")
    assert choices() == [ReadingPlan.BUILTIN, ReadingPlan.BUILTIN, ReadingPlan.ONE]
    server.reply_to(lambda request: "in the third person" in request.prompt, GOOD_REPLIES["plain"])
    test = completed(model_tests.start_test(owner, connection))
    assert test.results["plan"] == "small"
    assert choices() == [ReadingPlan.SMALL, ReadingPlan.SMALL, ReadingPlan.ONE]
    server.reply_to(lambda request: "one line each, in any order" in request.prompt, GOOD_REPLIES["reading"])
    test = completed(model_tests.start_test(owner, connection))
    assert test.results["tiers"][-1]["verdict"] == "good"
    assert test.results["score"] == 0, "the mean of the tiers that are asked for alone"
    assert choices() == [ReadingPlan.ONE, ReadingPlan.ONE, ReadingPlan.ONE]
    assert plan_for(UserFactory(), small, backend) == ReadingPlan.SEPARATE


@pytest.mark.parametrize("better", [False, True])
def test_the_page_says_which_of_the_two_reads_better(
    owner: User, connection: Connection, server: ScriptedServer, better: bool
) -> None:
    lines = GOOD_REPLIES["plain"].splitlines()
    reply = "\n".join(lines if better else lines[: len(lines) // 2])
    server.reply_to(lambda request: "in the third person" in request.prompt, reply)
    test = completed(model_tests.start_test(owner, connection))
    plain = next(tier["score"] for tier in test.results["tiers"] if tier["task"] == "plain")
    assert (plain >= test.results["without"]) is better
    assert plain > 0
    site = Client()
    site.force_login(owner)
    page = site.get(f"/settings/models/test/{test.pk}/")
    told = "Plain questions." if better else "The built-in extractor does better."
    assertContains(page, f"<strong>{told}</strong>", html=True)
    assertContains(page, f"the model’s plain sentences reach {plain} of 100")
    chosen = plan_for(owner, Settings(profile="A"), ConnectedBackend(connection))
    assert chosen == (ReadingPlan.SMALL if better else ReadingPlan.BUILTIN)


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        ("qwen2.5:1.5b", 1.5),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", 1.5),
        ("SmolLM2-135M-Instruct", 0.135),
        ("mixtral:8x7b", 7),
        ("qwen3:30b-a3b", 30),
        ("gpt-4.1-mini", 0),
        ("minimax-text-1m", 0),
    ],
)
def test_a_name_may_tell_the_size_of_a_model(model: str, billions: float) -> None:
    assert billions_of(model) == billions


def test_memories_are_neither_read_nor_written(owner: User, connection: Connection, server: ScriptedServer) -> None:
    chat = make_chat(owner, "The zebra sleeps.", "Indeed.", character=make_character(owner))
    make_memory(chat, "The zebra sleeps.")
    server.reply_to(lambda request: True, "[fact:3:permanent] Everything is different now.")
    before = everything_remembered()
    completed(model_tests.start_test(owner, connection))
    completed(model_tests.start_test(owner, None))
    assert everything_remembered() == before
    assert not any("zebra" in request.prompt for request in server.requests)


def test_a_failed_call_is_reported_and_the_test_continues(connection: Connection, owner: User, server: Any) -> None:
    server.reply_to(lambda request: request.number == 2, Reply(status=400, raw=b'{"error": {"message": "no thanks"}}'))
    test = completed(model_tests.start_test(owner, connection))
    errors = [tier["error"] for tier in test.results["tiers"]]
    assert test.state == "succeeded"
    assert sum(map(bool, errors)) == 1
    assert "no thanks" in "".join(errors)


def test_one_test_at_a_time_for_each_owner(owner: User) -> None:
    first = model_tests.start_test(owner, None)
    with pytest.raises(Conflict):
        model_tests.start_test(owner, None)
    model_tests.start_test(UserFactory(), None)
    jobs.cancel(first)
    model_tests.start_test(owner, None)


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_start_one_test(transactional_db: None) -> None:
    owner = UserFactory()
    barrier, outcomes = threading.Barrier(4), []

    def start() -> None:
        barrier.wait()
        try:
            outcomes.append(str(model_tests.start_test(owner, None).pk))
        except Conflict:
            outcomes.append("refused")
        finally:
            database.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == 3


def test_a_connection_must_name_a_model(owner: User) -> None:
    bare = create_connection(owner, name="Bare", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Invalid) as raised:
        model_tests.start_test(owner, bare)
    assert raised.value.errors[0].pointer == "/connection"
    assert not ModelTest.objects.for_owner(owner).exists()


def test_a_connection_deleted_while_its_test_waits_ends_the_test(owner: User, connection: Connection) -> None:
    test = model_tests.start_test(owner, connection)
    delete_connection(connection)
    assert completed(test).state == "failed"
    assert test.error == model_tests.CONNECTION_DELETED


def cancel_when(monkeypatch: pytest.MonkeyPatch, test: ModelTest, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Cancel the test at the first heartbeat whose fields satisfy the predicate."""
    real_heartbeat = jobs.heartbeat

    def heartbeat(job: Any, **fields: Any) -> None:
        real_heartbeat(job, **fields)
        if holds(fields):
            jobs.cancel(ModelTest.objects.for_owner(test.owner_id).get(pk=test.pk))

    monkeypatch.setattr(jobs, "heartbeat", heartbeat)
    monkeypatch.setattr(model_tests, "HEARTBEAT_INTERVAL", 0.0)


def test_a_cancelled_test_keeps_its_results_so_far(
    owner: User, connection: Connection, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = model_tests.start_test(owner, connection)
    cancel_when(monkeypatch, test, lambda noted: noted.get("done") == 2)
    assert completed(test).state == "cancelled"
    assert test.done == len(test.results["tiers"]) == 2
    assert len(server.requests) == 2


def test_cancelling_aborts_a_stalled_call(
    owner: User, connection: Connection, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = model_tests.start_test(owner, connection)
    cancel_when(monkeypatch, test, lambda noted: len(server.requests) == 1)
    server.reply_to(lambda request: True, Reply("NONE", delay=30))
    begun = timezone.now()
    assert completed(test).state == "cancelled"
    assert timezone.now() - begun < dt.timedelta(seconds=10)


def test_a_test_whose_worker_was_killed_fails(owner: User) -> None:
    test = model_tests.start_test(owner, None)
    long_ago = timezone.now() - dt.timedelta(hours=1)
    mine = ModelTest.objects.for_owner(owner).filter(pk=test.pk)
    mine.update(state="running", claim=uuid.uuid4(), heartbeat_at=long_ago)
    tasks.sweep_jobs()
    test.refresh_from_db()
    assert (test.state, test.error) == ("failed", model_tests.WORKER_LOST)
    assert completed(test).state == "failed"  # its task, delivered again
    assert completed(model_tests.start_test(owner, None)).state == "succeeded"


def test_a_test_with_a_heartbeat_is_not_failed(owner: User) -> None:
    test = model_tests.start_test(owner, None)
    ModelTest.objects.for_owner(owner).update(state="running", claim=uuid.uuid4(), heartbeat_at=timezone.now())
    tasks.sweep_jobs()
    assert completed(test).state == "running"


def test_a_test_whose_task_was_lost_is_queued_again(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.run_model_test, "delay", lambda *, test_id: sent.append(test_id))
    test = model_tests.start_test(owner, None)
    tasks.sweep_jobs()
    assert sent == []
    ModelTest.objects.for_owner(owner).update(created_at=timezone.now() - dt.timedelta(hours=1))
    tasks.sweep_jobs()
    tasks.sweep_jobs()
    assert sent == [str(test.pk)]


def test_only_the_latest_tests_are_kept(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_tests, "MAX_TESTS", 3)
    other = model_tests.start_test(UserFactory(), None)
    tests = []
    for _ in range(5):
        tests.append(model_tests.start_test(owner, None))
        jobs.cancel(tests[-1])
    kept = ModelTest.objects.for_owner(owner).order_by("pk").values_list("pk", flat=True)
    assert list(kept) == [test.pk for test in tests[-3:]]
    assert ModelTest.objects.for_owner(other.owner).count() == 1
