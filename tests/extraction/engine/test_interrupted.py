"""Runs that are interrupted while messages, connections and chats change: they end, and nothing is left unread."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import delete_chat, restore_chat
from apps.common import jobs
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import messages_to_extract
from apps.extraction.runs import modes
from apps.extraction.runs.operations import skip_messages, start_run
from apps.extraction.runs.queries import is_due
from apps.extraction.runs.settling import invalidate_if_exists
from apps.extraction.runs.waiting import on_generation_changed
from apps.llm.models import Connection
from apps.llm.operations import update_connection
from apps.memories.queries.memories import active_memories
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import (
    STORY,
    edit,
    read,
    settle,
    swipe,
    swipe_back,
    taken,
    tell,
    undo,
)
from tests.factories import make_chat
from tests.lanes import sampled
from tests.llm.scripted_server import Reply, Request, ScriptedServer

LT = {"tiers": ["long_term"]}
UNAVAILABLE = Reply(status=503, headers={"retry-after": "3600"})
PATIENCE = 60  # seconds, after which a run counts as endless
FILLER = ["Some words about nothing much at all, and then some."] * 1000


@pytest.fixture(autouse=True)
def _is_not_endless() -> Iterator[None]:
    def ring(*args: Any) -> None:
        raise AssertionError("The run does not end.")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)


def is_task(name: str) -> Any:
    return lambda request: storyteller.task_of(request) == name


def known(chat: Chat) -> list[str]:
    return sorted(active_memories(chat, "long_term", chat.character_id).values_list("text", flat=True))


def fail_at(server: ScriptedServer, number: int) -> None:
    """The server is not available at the reading of that number, counted from 1."""
    seen: list[Request] = []

    def is_it(request: Request) -> bool:
        if storyteller.task_of(request) != "reading":
            return False
        seen.append(request)
        return len(seen) == number

    server.reply_to(is_it, UNAVAILABLE)


@pytest.mark.parametrize("way", sampled(["swipe", "edit"], 1))
def test_a_message_that_changes_there_and_back_while_the_run_waits_is_read(
    owner: User, server: ScriptedServer, way: str
) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.")
    tune(chat, reading="one")
    server.reply_to(is_task("reading"), UNAVAILABLE)
    run = read(chat)
    assert (run.state, run.waits_for) == ("queued", "server")
    if way == "swipe":
        swipe(chat, 0, "FACT(2): Mira lives in Rome.")
        invalidate_if_exists(chat)
        swipe_back(chat, 0)
    else:
        edit(chat, 0, "FACT(2): Mira lives in Rome.")
        invalidate_if_exists(chat)
        undo(chat)
    invalidate_if_exists(chat)
    server.reply_to(is_task("reading"), storyteller.answer)
    jobs.resume(run)
    assert taken(run).state == "succeeded"
    assert known(chat) == ["Mira lives in Oslo."]


@pytest.mark.parametrize("again", ["resumed", "another run"])
def test_a_long_message_is_read_to_its_end_though_the_context_grows_meanwhile(
    owner: User, server: ScriptedServer, again: str
) -> None:
    chat = tell(owner, "\n".join(["FACT(2): Mira lives in Oslo.", *FILLER, "FACT(2): Tom hates cabbage."]), "Good.")
    tune(chat, reading="one", summary=False)
    fail_at(server, 2)
    run = read(chat)
    assert run.state == "queued"
    update_connection(Connection.objects.for_owner(owner).get(), context_tokens=128_000)
    if again == "resumed":
        jobs.resume(run)
        assert taken(run).state == "succeeded"
    else:
        jobs.cancel(run)
        assert read(chat).state == "succeeded"
    assert known(chat) == ["Mira lives in Oslo.", "Tom hates cabbage."]


@pytest.mark.parametrize("reading", sampled(["one", "separate"], 1))
def test_the_middle_of_a_message_is_read_however_large_the_context(
    owner: User, server: ScriptedServer, reading: str
) -> None:
    chat = tell(owner, "\n".join([*FILLER, "FACT(2): Mira lives in Oslo.", *FILLER]), "Good.")
    tune(chat, reading=reading, summary=False, ask_above=10_000_000)
    update_connection(Connection.objects.for_owner(owner).get(), context_tokens=128_000)
    assert read(chat, **LT).state == "succeeded"
    assert known(chat) == ["Mira lives in Oslo."]


def test_a_fresh_start_and_read_only_mode_end_the_run(owner: User, server: ScriptedServer) -> None:
    for begin in (modes.start_fresh, modes.set_read_only):
        chat = tell(owner, *STORY)
        run, _ = start_run(owner, chat)
        begin(owner, chat)
        run.refresh_from_db()
        assert run.state == "cancelled"
        assert not taken(run).steps.exists()


def test_a_catch_up_goes_on_after_its_chat_was_deleted_and_restored(owner: User) -> None:
    chat = tell(owner, *STORY)
    run, _ = start_run(owner, chat)
    delete_chat(chat)
    restore_chat(owner, chat.pk)
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert chat.runs.open().exists()


def test_a_reply_that_was_cut_off_is_not_paid_for_again(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.")
    tune(chat, reading="one", summary=False)
    limits: list[int] = []

    def reply(request: Request) -> Reply:
        limits.append(request.body["max_tokens"])
        return Reply("[fact:2] Mira li", finish_reason="length") if len(limits) == 1 else UNAVAILABLE

    server.reply_to(is_task("reading"), reply)
    run = read(chat)
    for _ in range(2):
        jobs.resume(run)
        taken(run)
    assert limits[1:] == [4096] * 3
    server.reply_to(is_task("reading"), Reply("[fact:2] Mira li", finish_reason="length"))
    jobs.resume(run)
    assert taken(run).state == "succeeded"
    assert chat.runs.get().steps.exclude(error="").exists()


def test_a_person_s_pause_lasts_when_the_connection_changes(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.")
    server.reply_to(is_task("reading"), UNAVAILABLE)
    server.reply_to(lambda request: request.kind == "generation", UNAVAILABLE)
    run = read(chat)
    assert run.waits_for == "server"
    jobs.pause(run)
    on_generation_changed(owner.pk)
    run.refresh_from_db()
    assert (run.state, run.waits_for) == ("paused", "")


def test_a_repetition_that_costs_too_much_leaves_the_messages_read(owner: User) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.", "Hm.", "Well.")
    settle(chat)
    tune(chat, ask_above=10)
    run, _ = start_run(owner, chat, from_index=0)
    assert (run.state, run.waits_for) == ("paused", "agreement")
    assert run.estimate["calls"] > 0
    jobs.cancel(run)
    assert not is_due(chat)
    run, _ = start_run(owner, chat, from_index=0)
    jobs.resume(run)
    assert taken(run).state == "succeeded"
    assert run.steps.exists()
    assert not messages_to_extract(chat, ["long_term"], 0, 4).exists()


def test_a_run_of_the_canon_alone_costs_one_call_and_leaves_messages_unread(owner: User) -> None:
    chat = tell(owner, *STORY)
    tune(chat, ask_above=10)
    run, _ = start_run(owner, chat, tiers=["canon"])
    assert (run.state, run.estimate) == ("queued", {})
    skip_messages(run)
    assert messages_to_extract(chat, ["long_term"], 0, len(STORY)).count() == len(STORY)


def test_runs_that_would_wait_for_a_place_leave_the_workers_to_others(owner: User, server: ScriptedServer) -> None:
    update_connection(Connection.objects.for_owner(owner).get(), parallel_calls=2)
    for number in range(4):
        start_run(owner, make_chat(owner, "Hello.", "Good.", "Yes.", title=str(number)))
    claimed = [jobs.claim_next([ExtractionRun]) for _ in range(4)]
    assert sum(run is not None for run in claimed) == 2
    assert claimed[0] is not None
    jobs.end(claimed[0], "succeeded")
    assert jobs.claim_next([ExtractionRun]) is not None
