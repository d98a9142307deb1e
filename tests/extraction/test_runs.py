"""Claims of runs, dead workers, cancelling, and where a run begins."""

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chats import operations as chat_operations
from apps.chats.models import Chat
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, RunStep
from apps.extraction.progress import forget_read
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.queries import activities, end_of_window, seconds_left
from apps.extraction.runs.settling import extract_if_due, on_chat_committed
from apps.extraction.settings.stores import change_settings
from apps.extraction.steps import asking, recording
from apps.extraction.templatetags.extraction_tags import time_left
from apps.llm.backends import builtin
from apps.llm.generation import GenerationRequest
from apps.memories.models import Memory
from tests.factories import UserFactory, make_character, make_chat, parsed

TIERS = ("session", "long_term")
STAGES = ["session", "session_consolidation", "long_term", "long_term_consolidation"]  # of these tiers, a window
LINE = "My cousin Anna{n} moved to Port Salt in {year} with {n} dogs."
CHUNK, CHUNKS = 4, 3  # messages of a window, and windows


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def long_chat(owner: User) -> Chat:
    """A chat whose run takes several steps of each tier."""
    change_settings(owner, {"chunk": CHUNK})
    texts = [LINE.format(n=n, year=1700 + n) for n in range(CHUNK * CHUNKS)]
    return make_chat(owner, *texts, character=make_character(owner))


def start(chat: Chat) -> ExtractionRun:
    run, made = start_run(chat.owner_id, chat, tiers=TIERS)
    assert made
    return run


def at_step(monkeypatch: pytest.MonkeyPatch, number: int, action: Callable[[], object]) -> None:
    """Have ``action`` happen while the run's extraction ``number``, of two a window, is worked out."""
    calls: list[str] = []
    for tier in TIERS:
        original = builtin._tasks[tier]

        def work(request: GenerationRequest, original: builtin.TaskFunction = original) -> str:
            calls.append(request.task)
            if len(calls) == number + 1:
                action()
            return original(request)

        monkeypatch.setitem(builtin._tasks, tier, work)


def silence(run: ExtractionRun, seconds: int = 3600) -> None:
    """Date the run's last heartbeat back by ``seconds``."""
    moment = timezone.now() - dt.timedelta(seconds=seconds)
    ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk).update(heartbeat_at=moment)


def finished(run: ExtractionRun) -> list[str]:
    return list(run.steps.order_by("pk").values_list("stage", flat=True))


def kept(chat: Chat) -> list[tuple[str, str]]:
    return list(Memory.objects.for_owner(chat.owner_id).filter(chat=chat).values_list("tier", "text"))


def die() -> None:
    raise KeyboardInterrupt  # what no handler in the product takes for a failure


def test_a_run_is_claimed_once(long_chat: Chat) -> None:
    run = start(long_chat)
    assert jobs.claim(ExtractionRun, run.pk) is not None
    assert jobs.claim(ExtractionRun, run.pk) is None


def test_a_dead_workers_run_goes_on_after_its_last_finished_step(
    long_chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(long_chat)
    with monkeypatch.context() as patch:
        at_step(patch, 3, die)
        with pytest.raises(KeyboardInterrupt):
            pipeline.execute(run.pk)
    begun = STAGES + STAGES[:2]  # the first window, and the second up to its long-term memories
    assert finished(run) == begun
    pipeline.execute(run.pk)
    assert finished(run) == begun  # its worker might still be alive
    silence(run)
    seen: list[str] = []
    monkeypatch.setattr(asking.Asker, "__call__", _noting(seen))
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done, run.total) == ("succeeded", CHUNKS * 4, CHUNKS * 4)
    assert finished(run) == STAGES * CHUNKS
    assert [task for task in seen if task in TIERS] == ["long_term", "session", "long_term"]
    assert len(kept(long_chat)) == len(set(kept(long_chat)))


def _noting(seen: list[str]) -> Callable[..., str]:
    original = asking.Asker.__call__

    def ask(self: asking.Asker, task: str, *args: Any, **options: Any) -> str:
        seen.append(task)
        return original(self, task, *args, **options)

    return ask


def test_a_worker_that_was_thought_dead_writes_nothing_more(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(long_chat)

    def taken_over() -> None:
        silence(run)
        assert jobs.claim(ExtractionRun, run.pk) is not None

    at_step(monkeypatch, 2, taken_over)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("running", 4)  # it is the other one's now
    assert finished(run) == STAGES


def step_of(run: ExtractionRun, window: str, **fields: object) -> RunStep:
    return RunStep(owner_id=run.owner_id, run=run, stage="session", window=window, **fields)


def test_a_step_is_never_stored_twice(long_chat: Chat) -> None:
    run = start(long_chat)
    mine = jobs.claim(ExtractionRun, run.pk)
    assert mine is not None
    recording.finish_step(mine, step_of(mine, "w"))
    with pytest.raises(IntegrityError), transaction.atomic():
        recording.finish_step(mine, step_of(mine, "w"))
    run.refresh_from_db()
    assert run.done == 1


def test_a_changed_message_is_read_again_by_the_run_that_had_read_it(long_chat: Chat) -> None:
    mine = jobs.claim(ExtractionRun, start(long_chat).pk)
    assert mine is not None
    first, second = long_chat.messages.all()[:2]
    for number, message in enumerate((first, second)):
        recording.finish_step(mine, step_of(mine, f"w{number}", first=message, last=message))
    forget_read(long_chat, [second.pk])
    assert [step.first for step in mine.steps.select_related("first")] == [first]


def test_a_run_cancelled_while_a_step_works_stores_nothing_of_it(
    long_chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(long_chat)
    stored: list[int] = []

    def cancel() -> None:
        stored.append(len(kept(long_chat)))
        assert jobs.cancel(run).state == "cancelled"

    at_step(monkeypatch, 2, cancel)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done, run.error) == ("cancelled", 4, "")
    assert stored == [len(kept(long_chat))]
    assert run.finished_at is not None


def test_a_run_cancelled_between_steps_stops_there(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(long_chat)
    original = recording.finish_step

    def finish_then_cancel(run: ExtractionRun, result: RunStep) -> None:
        original(run, result)
        if result.stage == "session_consolidation":
            jobs.cancel(run)

    monkeypatch.setattr(recording, "finish_step", finish_then_cancel)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("cancelled", 2)
    assert finished(run) == STAGES[:2]


def test_what_ended_is_neither_claimed_nor_cancelled(long_chat: Chat) -> None:
    run = start(long_chat)
    pipeline.execute(run.pk)
    silence(run)
    assert jobs.claim(ExtractionRun, run.pk) is None
    assert jobs.cancel(run).state == "succeeded"


def test_an_unforeseen_error_fails_the_run_and_is_not_hidden(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(long_chat)

    def break_down() -> None:
        raise ValueError("secret detail")

    at_step(monkeypatch, 2, break_down)
    with pytest.raises(ValueError, match="secret detail"):
        pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("failed", 4)
    assert "secret" not in run.error
    assert kept(long_chat)


def test_messages_that_never_stand_still_fail_the_run(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(long_chat)
    first = long_chat.messages.order_by("index").first()

    def change(request: GenerationRequest) -> str:
        first.rev += 1
        first.save(update_fields=["rev"])
        return "NONE"

    monkeypatch.setitem(builtin._tasks, "session", change)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("failed", 0)
    assert run.error


def test_an_append_meanwhile_disturbs_nothing_and_waits_for_the_next_run(
    long_chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(long_chat)
    late = [parsed("My uncle Ned moved to Rome in 1999.", is_user=True)]
    at_step(monkeypatch, 0, lambda: chat_operations.append_messages(long_chat.owner_id, long_chat.pk, late))
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("succeeded", CHUNKS * 4)
    assert not any("Ned" in text for _, text in kept(long_chat))
    pipeline.execute(start(long_chat).pk)
    assert any("Ned" in text for _, text in kept(long_chat))


def test_a_chat_deleted_meanwhile_ends_its_run_quietly(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(long_chat)
    at_step(monkeypatch, 0, lambda: chat_operations.purge_chat(run.owner_id, run.chat_id))
    pipeline.execute(run.pk)
    assert not ExtractionRun.objects.for_owner(run.owner_id).exists()
    tasks.run_extraction(run_id=str(run.pk))
    on_chat_committed(ChatChanged(run.owner_id, run.chat_id, "append", 2, uuid4()))


def test_a_chat_put_into_the_bin_meanwhile_ends_its_run_quietly(
    long_chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(long_chat)
    at_step(monkeypatch, 0, lambda: chat_operations.delete_chat(long_chat))
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "cancelled"
    on_chat_committed(ChatChanged(run.owner_id, run.chat_id, "append", 2, uuid4()))
    tasks.sweep_chats()
    assert [row.pk for row in ExtractionRun.objects.for_owner(run.owner_id)] == [run.pk]


def test_each_tier_begins_where_it_was_read_to(owner: User) -> None:
    chat = make_chat(owner, *(LINE.format(n=n, year=1700 + n) for n in range(5)))
    for tiers, first in ((["session"], 0), (["session"], None), (TIERS, 0), (TIERS, None)):
        run, _ = start_run(owner, chat, tiers=tiers)
        assert (run.first and run.first.index) == first
        pipeline.execute(run.pk)


def test_extraction_comes_every_few_messages(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: sent.append(run_id))
    chat = make_chat(owner, "One.", "Two.", "Three.")  # the newest is the user's
    assert end_of_window(chat) == 3
    extract_if_due(chat)
    assert chat.runs.count() == 1
    pipeline.execute(chat.runs.get().pk)
    chat_operations.append_messages(owner, chat.pk, [parsed("Four."), parsed("Five.", is_user=True)])
    extract_if_due(chat)
    assert chat.runs.count() == 1
    chat_operations.append_messages(owner, chat.pk, [parsed("Six."), parsed("Seven.")])
    extract_if_due(chat)
    assert chat.runs.count() == 2


def test_the_sweep_sends_what_lost_its_worker(long_chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: sent.append(run_id))
    run = start(long_chat)
    assert jobs.claim(ExtractionRun, run.pk) is not None
    tasks.sweep_runs()
    assert sent == []
    silence(run)
    tasks.sweep_runs()
    assert sent == [str(run.pk)]
    jobs.cancel(run)
    tasks.sweep_runs()
    assert sent == [str(run.pk)]


def test_the_time_left_follows_from_the_runs_own_speed(long_chat: Chat) -> None:
    run = start(long_chat)
    run.done, run.total = 10, 307
    now = timezone.now()
    for second in range(3):
        assert time_left(run) == ""
        at = now + dt.timedelta(seconds=second)
        RunStep.objects.create(owner_id=run.owner_id, run=run, stage=f"stage {second}", window="w", finished_at=at)
    assert seconds_left(run) == 297
    assert time_left(run) == "about 4\xa0minutes"
    run.total = 40
    assert time_left(run) == "under a minute"


def test_runs_under_way_are_shown_by_chat(long_chat: Chat) -> None:
    run = start(long_chat)
    others = UserFactory()
    under_way = activities(long_chat.owner_id, [long_chat.pk])
    assert {chat: (activity.done, activity.total) for chat, activity in under_way.items()} == {long_chat.pk: (0, 0)}
    assert activities(others, [long_chat.pk]) == {}
    jobs.cancel(run)
    assert activities(long_chat.owner_id, [long_chat.pk]) == {}


@pytest.mark.django_db(transaction=True)
def test_threads_that_start_a_run_at_once_get_the_same_one() -> None:
    owner = UserFactory()
    chat = make_chat(owner, *(LINE.format(n=n, year=1700 + n) for n in range(5)))
    ready = threading.Barrier(4)
    results: list[tuple[object, bool]] = []

    def work() -> None:
        try:
            ready.wait(timeout=60)
            run, made = start_run(owner, chat)
            results.append((run.pk, made))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(results) == 4
    assert len({run for run, _ in results}) == 1
    assert sum(made for _, made in results) == 1
