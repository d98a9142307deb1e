"""Settled chats: what a sweep starts where a task was lost or a run was under way, and which chats it looks at."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.chats import operations as chat_operations
from apps.chats.locking import Guard
from apps.chats.models import Chat, ChatChange
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.common.scoping import system_scope
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, IndexJob
from apps.extraction.runs import modes, pipeline, settling
from apps.extraction.runs.operations import request_run
from apps.extraction.runs.settling import on_chat_committed
from apps.search.indexing import index_messages
from tests.factories import UserFactory, make_chat, parsed

pytestmark = pytest.mark.django_db
LONG_AGO = dt.timedelta(days=400)


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A function that sweeps, and returns the ids of the chats for which a task was enqueued."""
    ids: list[str] = []
    monkeypatch.setattr(tasks.settle_chat, "delay", lambda *, chat_id: ids.append(chat_id))

    def sweep() -> list[str]:
        ids.clear()
        tasks.sweep_chats()
        return list(ids)

    return sweep


def settle(chat: Chat) -> None:
    tasks.settle_chat(chat_id=str(chat.pk))


def committed(chat: Chat, rev: int, kind: str = ChatChange.Kind.APPEND) -> None:
    """Have a write to the chat handled by its receivers."""
    on_chat_committed(ChatChanged(chat.owner_id, chat.pk, kind, rev, chat.integrity))


def test_a_sweep_enqueues_one_task_for_each_chat_that_changed_since_it_was_settled_whatever_its_age(
    owner: User, sent: Callable[[], list[str]]
) -> None:
    old, new, settled = (make_chat(owner, "Hello.") for _ in range(3))
    Chat.objects.for_owner(owner).filter(pk=old.pk).update(updated_at=timezone.now() - LONG_AGO)
    settle(settled)
    assert sent() == [str(old.pk), str(new.pk)]
    settle(old)
    settle(new)
    assert sent() == []
    chat_operations.append_messages(owner, settled.pk, [parsed("And?")])
    assert sent() == [str(settled.pk)]


def test_a_sweep_takes_the_chats_in_portions_the_longest_waiting_first(
    owner: User, sent: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "MAX_SWEPT", 2)
    chats = [make_chat(owner, "Hello.") for _ in range(3)]
    assert sent() == [str(chat.pk) for chat in chats[:2]]
    settle(chats[0])
    settle(chats[1])
    assert sent() == [str(chats[2].pk)]


def test_a_sweep_finds_its_chats_by_an_index(owner: User) -> None:
    with system_scope(), connection.cursor() as cursor:
        query = str(Chat.objects.filter(rev__gt=F("settled_rev")).order_by("updated_at").only("pk")[:10].query)
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {query}")
        assert "chat_unsettled" in "\n".join(row[0] for row in cursor.fetchall())


def test_settling_starts_the_run_and_the_indexing_of_a_lost_change(owner: User, sent: Callable[[], list[str]]) -> None:
    chat = make_chat(owner, "One.", "Two.", "Three.")
    settle(chat)
    run = chat.runs.get()
    assert sent() == []  # the end of its run settles it
    pipeline.execute(run.pk)
    assert sent() == [str(chat.pk)]
    settle(chat)
    assert IndexJob.objects.for_owner(owner).get().chat == chat
    assert sent() == []


def test_messages_that_came_during_a_run_are_extracted_after_its_end(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[str] = []
    monkeypatch.setattr(tasks.settle_chat, "delay", lambda *, chat_id: settled.append(chat_id))
    chat = make_chat(owner, "One.", "Two.", "Three.")
    run, _ = request_run(owner, chat)
    chat_operations.append_messages(owner, chat.pk, [parsed(text) for text in ("Four.", "Five.", "Six.", "Seven.")])
    tasks.run_extraction(run_id=str(run.pk))
    assert settled == [str(chat.pk)]
    settle(chat)
    assert chat.runs.active().count() == 1


def test_a_handled_change_settles_its_chat_unless_an_earlier_one_was_lost(owner: User) -> None:
    chat = make_chat(owner, "One.")
    first = chat.rev
    chat_operations.append_messages(owner, chat.pk, [parsed("Two.", is_user=True)])
    committed(chat, first + 1)
    chat.refresh_from_db()
    assert chat.settled_rev == 0
    settle(chat)
    chat.refresh_from_db()
    assert chat.settled_rev == chat.rev == first + 1
    chat_operations.patch_messages(
        owner, chat.pk, [chat_operations.Patch({"mes": "Three."}, index=0)], Guard(force=True)
    )
    committed(chat, first + 2, ChatChange.Kind.PATCH)
    chat.refresh_from_db()
    assert chat.settled_rev == first + 2


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_run_that_ended_early_is_not_repeated_before_its_chat_changes(owner: User, state: str) -> None:
    chat = make_chat(owner, "One.", "Two.", "Three.")
    request_run(owner, chat)
    ExtractionRun.objects.for_owner(owner).update(state=state)
    settle(chat)
    assert chat.runs.count() == 1
    chat.refresh_from_db()
    assert chat.settled_rev == chat.rev
    chat_operations.append_messages(owner, chat.pk, [parsed("Four.")])
    chat.refresh_from_db()
    settle(chat)
    assert chat.runs.count() == 2


def test_a_paused_run_leaves_its_chat_alone(owner: User, sent: Callable[[], list[str]]) -> None:
    chat = make_chat(owner, "One.", "Two.", "Three.")
    run, _ = request_run(owner, chat)
    jobs.pause(run)
    assert sent() == []
    settle(chat)
    assert chat.runs.count() == 1


def test_a_chat_that_learns_again_is_extracted_although_nobody_writes(
    owner: User, sent: Callable[[], list[str]]
) -> None:
    chat = make_chat(owner, "One.", "Two.", "Three.")
    modes.set_read_only(owner, chat)
    settle(chat)
    assert (sent(), chat.runs.count()) == ([], 0)
    modes.end_read_only(owner, chat, learn=True)
    assert sent() == [str(chat.pk)]
    settle(chat)
    assert chat.runs.count() == 1


def test_settling_an_indexed_chat_starts_nothing(owner: User) -> None:
    chat = make_chat(owner, "Hello.")
    index_messages(owner, chat)
    settle(chat)
    assert not IndexJob.objects.for_owner(owner).exists()


def test_a_sweep_costs_the_same_number_of_queries_for_any_number_of_chats(
    owner: User, sent: Callable[[], list[str]]
) -> None:
    for _ in range(10):
        make_chat(owner, "Hello.")
    with CaptureQueriesContext(connection) as queries:
        assert len(sent()) == 10
    assert len(queries) == 1
