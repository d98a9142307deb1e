"""Weeks, months and years are made of dailies: once, for any order of arrival, and never over a person's edit."""

import datetime as dt
from collections import Counter
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.journal.consolidation import periods_to_make, restore_deleted
from apps.journal.entries import delete_entry, edit_entry, merge_daily
from apps.journal.tasks import keep
from apps.memories.journal.periods import Granularity, ancestors, day, parse_period, week_of
from apps.memories.models import JournalEntry
from tests.factories import UserFactory
from tests.properties import WITH_DATABASE

NOW = dt.datetime(2031, 1, 1, 12, tzinfo=dt.UTC)
DAYS = [dt.date(2020, 12, 28) + dt.timedelta(days=n) for n in (0, 3, 4, 6, 7, 30, 34, 365)]


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def daily(owner: User, date: dt.date, text: str = "", instance: str = "desk") -> JournalEntry:
    text = text or f"- On {date} Ana rang. [chat:{date}]"
    return merge_daily(owner, period=date, instance=instance, text=text)[0]


def rows(owner: User, *levels: str) -> dict[tuple[str, str], Any]:
    """Return text, chats and sources of the entries above the dailies."""
    entries = JournalEntry.objects.for_owner(owner).present().exclude(granularity="daily").prefetch_related("sources")
    return {
        (entry.granularity, entry.period): (
            entry.text,
            entry.chats,
            sorted(f"{source.period} {source.instance}" for source in entry.sources.all()),
            entry.stale,
        )
        for entry in entries.order_by("pk")
        if not levels or entry.granularity in levels
    }


def get(owner: User, period: str) -> JournalEntry:
    return JournalEntry.objects.for_owner(owner).get(period=period)


def test_a_week_across_two_months_is_in_the_month_of_its_thursday(owner: User) -> None:
    daily(owner, dt.date(2026, 3, 30))
    keep(owner, NOW)
    assert list(rows(owner)) == [("weekly", "2026-W14"), ("monthly", "2026-04"), ("yearly", "2026")]


def test_every_daily_belongs_to_one_week_month_and_year_and_a_second_run_changes_nothing(owner: User) -> None:
    for date in DAYS:
        for instance in ("desk", "phone"):
            daily(owner, date, instance=instance)
    assert keep(owner, NOW) > 0
    before = list(JournalEntry.objects.for_owner(owner).order_by("pk").values())
    for entry in JournalEntry.objects.for_owner(owner).filter(granularity="daily"):
        week = entry.part_of
        chain = [week, week.part_of, week.part_of.part_of] if week and week.part_of else []
        assert [each.period for each in chain if each] == [each.name for each in ancestors(day(entry.starts))]
    assert (periods_to_make(owner, NOW), keep(owner, NOW)) == ([], 0)
    assert list(JournalEntry.objects.for_owner(owner).order_by("pk").values()) == before


@pytest.mark.django_db
@settings(max_examples=WITH_DATABASE)
@given(
    st.lists(
        st.tuples(st.sampled_from(DAYS), st.sampled_from(["desk", ""]), st.sampled_from("abc")),
        unique=True,
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_any_order_of_arrival_gives_the_same_journal(arrivals: list[Any], data: st.DataObject) -> None:
    results = []
    for order in (arrivals, data.draw(st.permutations(arrivals))):
        runs = data.draw(st.sets(st.integers(0, len(order))))
        with transaction.atomic():
            owner = UserFactory()
            for number, (date, instance, chat) in enumerate(order):
                daily(owner, date, f"- {date} {chat} happened. [chat:{chat}]", instance)
                if number in runs:
                    keep(owner, NOW)
            keep(owner, NOW)
            results.append(rows(owner))
            transaction.set_rollback(True)
    assert results[0] == results[1]
    assert Counter(granularity for granularity, _ in results[0])["yearly"] >= 1


def test_a_late_daily_rebuilds_its_week_month_and_year(owner: User) -> None:
    daily(owner, dt.date(2026, 11, 17))
    keep(owner, NOW)
    daily(owner, dt.date(2026, 11, 18), "- Zoe arrived late. [chat:z]")
    assert {entry[3] for entry in rows(owner).values()} == {True}
    keep(owner, NOW)
    for text, chats, _, stale in rows(owner).values():
        assert "Zoe arrived late. [chat:z] [via:desk]" in text
        assert ("z" in chats, stale) == (True, False)


@pytest.mark.parametrize("period", ["2026-W47", "2026-11", "2026"])
def test_a_persons_edit_is_never_overwritten(owner: User, period: str) -> None:
    daily(owner, dt.date(2026, 11, 17))
    keep(owner, NOW)
    edit_entry(get(owner, period), editor="me", text="My own words.")
    daily(owner, dt.date(2026, 11, 18))
    keep(owner, NOW)
    entry = get(owner, period)
    assert (entry.text, entry.edited_by, entry.stale) == ("My own words.", "me", True)
    assert keep(owner, NOW) == 0


def test_an_edited_week_makes_its_month_anew(owner: User) -> None:
    daily(owner, dt.date(2026, 11, 17))
    keep(owner, NOW)
    edit_entry(get(owner, "2026-W47"), editor="me", text="- Corrected: Bo rang.")
    keep(owner, NOW)
    assert "Bo rang" in get(owner, "2026-11").text
    assert "Bo rang" in get(owner, "2026").text


def test_a_deleted_week_is_not_made_again_unless_asked_for(owner: User) -> None:
    daily(owner, dt.date(2026, 11, 17))
    keep(owner, NOW)
    delete_entry(get(owner, "2026-W47"))
    daily(owner, dt.date(2026, 11, 18))
    keep(owner, NOW)
    assert get(owner, "2026-W47").deleted_at
    assert not rows(owner)
    restore_deleted(owner, week_of(dt.date(2026, 11, 17)))
    keep(owner, NOW, Granularity.WEEKLY, "2026-W47")
    assert get(owner, "2026-W47").deleted_at is None


def test_entries_without_sources_go(owner: User) -> None:
    entry = daily(owner, dt.date(2026, 11, 17))
    keep(owner, NOW)
    delete_entry(entry)
    keep(owner, NOW)
    assert not rows(owner)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("UTC", "2026-11-22 04:59", "2026-11-22 05:00"),
        ("Europe/Berlin", "2026-11-22 03:59", "2026-11-22 04:00"),
        ("Pacific/Kiritimati", "2026-11-21 14:59", "2026-11-21 15:00"),
    ],
)
def test_a_week_is_made_at_five_on_sunday_where_the_owner_lives(zone: str, before: str, after: str) -> None:
    user = UserFactory(time_zone=zone)
    moments = (dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC) for text in (before, after))
    daily(user, dt.date(2026, 11, 17))
    assert [[each.name for each in periods_to_make(user, at)] for at in moments] == [[], ["2026-W47"]]


def test_what_was_missed_is_made_at_the_next_run(owner: User) -> None:
    daily(owner, dt.date(2026, 10, 6))
    at = dt.datetime(2026, 11, 15, 9, tzinfo=dt.UTC)
    assert [each.name for each in periods_to_make(owner, at)] == ["2026-W41", "2026-10"]


def test_a_period_that_is_asked_for_is_made_before_it_is_due(owner: User) -> None:
    daily(owner, dt.date(2026, 11, 17))
    at = dt.datetime(2026, 11, 18, tzinfo=dt.UTC)
    period = parse_period(Granularity.MONTHLY, "2026-11")
    assert [each.name for each in periods_to_make(owner, at, period=period)] == ["2026-W47", "2026-11"]
    keep(owner, at, Granularity.MONTHLY, "2026-11")
    assert list(rows(owner)) == [("weekly", "2026-W47"), ("monthly", "2026-11")]
