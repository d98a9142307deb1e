"""The sweep reaches each owner who has something to keep, and what was missed is made at start-up."""

import datetime as dt
from typing import Any

import pytest
from celery.schedules import crontab
from celery.signals import beat_init

from apps.journal import tasks
from apps.journal.entries import merge_daily
from apps.memories.journal.periods import Granularity
from apps.memories.models import JournalEntry
from config.celery import app
from tests.factories import UserFactory, make_chat, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of tasks that were sent, which no worker runs."""
    found: list[dict[str, Any]] = []
    for task in (tasks.keep_journal, tasks.rewrite_journal):
        monkeypatch.setattr(task, "delay", lambda **names: found.append(names))
    monkeypatch.setattr(tasks.sweep_journals, "delay", lambda **names: tasks.sweep_journals())
    return found


def test_at_start_up_each_owner_with_entries_or_memories_is_swept(sent: list[dict[str, Any]]) -> None:
    UserFactory()
    writer, reader, gone = UserFactory(), UserFactory(), UserFactory(is_active=False)
    merge_daily(writer, period=dt.date(2026, 1, 5), instance="", text="- It snowed.")
    merge_daily(gone, period=dt.date(2026, 1, 5), instance="", text="- It snowed.")
    make_memory(make_chat(reader), "Ana rang.")
    beat_init.send(sender=None)
    assert sorted(names["owner_id"] for names in sent) == sorted(str(owner.pk) for owner in (writer, reader))


@pytest.mark.parametrize(
    ("zone", "minute"),
    [("UTC", 0), ("Asia/Kolkata", 30), ("Asia/Kathmandu", 15), ("America/St_Johns", 30), ("Pacific/Chatham", 15)],
)
def test_each_owner_is_swept_once_an_hour_when_an_hour_begins_where_they_live(
    sent: list[dict[str, Any]], zone: str, minute: int
) -> None:
    merge_daily(UserFactory(time_zone=zone), period=dt.date(2026, 1, 5), instance="", text="- It snowed.")
    for name, entry in app.conf.beat_schedule.items():
        if entry["task"] == tasks.sweep_journals.name:
            assert entry["schedule"] == crontab(minute=entry["kwargs"]["minute"]), name
            tasks.sweep_journals(**entry["kwargs"])
            assert len(sent) == (entry["kwargs"]["minute"] >= minute)


def test_the_task_keeps_the_journal_and_an_owner_who_is_gone_costs_nothing(sent: list[dict[str, Any]]) -> None:
    owner = UserFactory()
    merge_daily(owner, period=dt.date(2026, 1, 5), instance="", text="- It snowed.")
    tasks.keep_journal(owner_id=str(owner.pk), granularity=Granularity.WEEKLY.value, period="2026-W02")
    assert JournalEntry.objects.for_owner(owner).filter(period="2026-W02").exists()
    assert sent == [{"owner_id": str(owner.pk)}]
    tasks.keep_journal(owner_id="01a20760-e22e-7d10-a941-dbf2c2b75075")
    assert len(sent) == 1
