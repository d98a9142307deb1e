"""What a person asks for while a run of the chat is open: the run that they get does it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionProgress, ExtractionRun
from apps.extraction.progress import messages_to_extract
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import request_run, resume_run
from apps.extraction.settings.stores import change_settings
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.prompts.conftest import client_of

LINE = "My cousin Anna{n} moved to Port Salt in {year} with {n} dogs."


@pytest.fixture
def owner(db: None) -> User:
    owner: User = UserFactory()
    change_settings(owner, {"index_messages": False})
    return owner


@pytest.fixture
def chat(owner: User) -> Chat:
    return make_chat(owner, *(LINE.format(n=n, year=1700 + n) for n in range(7)), character=make_character(owner))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: found.append(run_id))
    return found


@pytest.fixture
def ask(owner: User, chat: Chat) -> Callable[..., dict[str, Any]]:
    """A function that asks for a run, which is already under way, over the API."""

    def ask(**body: Any) -> dict[str, Any]:
        reply = client_of(owner).post(f"/api/v1/chats/{chat.pk}/extract/", body, format="json")
        assert reply.status_code == 200, reply.content
        return reply.json()["run"]

    return ask


def automatic(chat: Chat, *tiers: str) -> ExtractionRun:
    run, created = request_run(chat.owner_id, chat, tiers=tiers, automatic=True)
    assert created
    return run


def tiers_read(chat: Chat, index: int) -> set[str]:
    return set(ExtractionProgress.objects.for_owner(chat.owner_id).get(message__chat=chat, message__index=index).tiers)


def finished(run: ExtractionRun) -> ExtractionRun:
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "succeeded", run.error
    return run


def test_a_queued_run_gets_the_tiers_that_are_asked_for(chat: Chat, ask: Callable[..., dict[str, Any]]) -> None:
    run = automatic(chat, "session")
    asked = ask(tiers=["long_term", "canon"])
    assert (asked["id"], asked["state"]) == (str(run.pk), "queued")
    assert asked["tiers"] == ["session", "long_term", "canon"]
    finished(run)
    assert tiers_read(chat, 0) == {"session", "long_term"}
    assert "canon" in {step.stage for step in run.steps.all()}


def test_a_running_one_is_taken_from_its_worker_and_goes_on_with_all_of_it(
    chat: Chat, ask: Callable[..., dict[str, Any]], sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    run = automatic(chat, "session")
    at_work = jobs.claim(ExtractionRun, run.pk)
    assert at_work is not None
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(tiers=["long_term"])["state"] == "queued"
    assert sent == [str(run.pk)]
    with pytest.raises(jobs.ClaimLost):
        jobs.heartbeat(at_work)
    assert not jobs.end(at_work, "succeeded")
    finished(run)
    assert tiers_read(chat, 0) == {"session", "long_term"}


def test_what_it_has_read_is_read_again_only_where_that_is_asked_for(
    chat: Chat, ask: Callable[..., dict[str, Any]]
) -> None:
    finished(automatic(chat, "session"))
    append_messages(chat.owner_id, chat.pk, [parsed(LINE.format(n=9, year=1709)), parsed("And now?", is_user=True)])
    run = automatic(chat, "session")
    assert run.first is not None
    assert run.first.index == 7
    ask(tiers=["session"], **{"from": 3})
    run.refresh_from_db()
    assert run.again
    assert {message.index for message in messages_to_extract(chat, ["session"], 0, 9)} == {3, 4, 5, 6, 7, 8}
    finished(run)
    assert not messages_to_extract(chat, ["session"], 0, 9).exists()
    assert {step.first.index for step in run.steps.all() if step.first} == {3}


def test_it_reaches_to_the_messages_that_were_new_when_it_was_asked_for(
    chat: Chat, ask: Callable[..., dict[str, Any]]
) -> None:
    run = automatic(chat, "session")
    append_messages(chat.owner_id, chat.pk, [parsed(LINE.format(n=9, year=1709)), parsed("And now?", is_user=True)])
    ask(tiers=["session"])
    run = finished(run)
    assert run.last is not None
    assert run.last.index == 8
    assert tiers_read(chat, 8) == {"session"}


def test_a_run_that_does_what_is_asked_for_stays_with_its_worker(
    chat: Chat, ask: Callable[..., dict[str, Any]], sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    run = automatic(chat, "session", "long_term")
    at_work = jobs.claim(ExtractionRun, run.pk)
    assert at_work is not None
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(tiers=["session"])["state"] == "running"
    jobs.heartbeat(at_work)
    assert sent == []


def test_what_comes_by_itself_leaves_a_run_as_it_is(chat: Chat) -> None:
    run, _ = request_run(chat.owner_id, chat, tiers=["canon"])
    same, created = request_run(chat.owner_id, chat, automatic=True)
    assert (same.pk, created, same.tiers) == (run.pk, False, ["canon"])


def test_a_paused_run_stays_paused_and_does_it_once_resumed(chat: Chat, ask: Callable[..., dict[str, Any]]) -> None:
    run = jobs.pause(automatic(chat, "session"))
    assert ask(tiers=["long_term"])["state"] == "paused"
    finished(resume_run(run))
    assert tiers_read(chat, 0) == {"session", "long_term"}


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_once_both_get_what_they_asked_for() -> None:
    owner: User = UserFactory()
    chat = make_chat(owner, *(LINE.format(n=n, year=1700 + n) for n in range(7)))
    run = automatic(chat, "session")

    def order(tier: str) -> None:
        try:
            request_run(owner, chat, tiers=[tier])
        finally:
            connection.close()

    threads = [threading.Thread(target=order, args=[tier]) for tier in ("canon", "long_term", "arcs")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    run.refresh_from_db()
    assert run.tiers == ["session", "long_term", "arcs", "canon"]
    assert ExtractionRun.objects.for_owner(owner).count() == 1
