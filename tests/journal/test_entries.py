"""Writes of the journal: dailies are merged, a person's edit stays, and late dailies make summaries stale."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.common.problems import Invalid
from apps.journal.entries import delete_entry, edit_entry, merge_daily, new_entry, write_significant
from apps.memories.journal.periods import month_of, week_of
from apps.memories.models import JournalEntry
from tests.factories import UserFactory

DAY = dt.date(2026, 11, 21)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def merge(owner: User, text: str, instance: str = "desk") -> JournalEntry:
    return merge_daily(owner, period=DAY, instance=instance, text=text)[0]


def test_a_repeated_push_changes_nothing(owner: User) -> None:
    first = merge(owner, "- Ana came. [chat:7] [via:desk]\n- It rained.")
    again = merge(owner, "- Ana came again. [chat:7]\n- It rained.")
    assert (again.pk, again.version, again.text) == (first.pk, 1, first.text)


def test_a_merge_tells_whether_the_entry_is_new(owner: User) -> None:
    texts = ("- Ana came. [chat:7]", "- Ana came. [chat:7]", "- Bo left. [chat:8]")
    assert [merge_daily(owner, period=DAY, instance="desk", text=text)[1] for text in texts] == [True, False, False]


def test_each_instance_has_an_entry_of_its_own(owner: User) -> None:
    assert merge(owner, "- A").pk != merge(owner, "- B", "phone").pk
    with pytest.raises(IntegrityError), transaction.atomic():
        JournalEntry.objects.create(
            owner=owner, granularity="daily", period="2026-11-21", starts=DAY, ends=DAY, instance="desk"
        )


def test_what_a_person_edited_stays_and_what_they_removed_does_not_return(owner: User) -> None:
    entry = merge(owner, "- Ana came. [chat:7]\n- Bo left. [chat:8]")
    edit_entry(entry, editor="me", text="# My day\n\n- Ana and I walked. [chat:7]")
    merged = merge(owner, "- Ana came. [chat:7]\n- Bo left. [chat:8]\n- Cy rang. [chat:9]")
    assert merged.text == "# My day\n\n- Ana and I walked. [chat:7]\n- Cy rang. [chat:9]"
    assert (merged.edited_by, merged.chats, merged.version) == ("me", ["7", "8", "9"], 3)


def test_a_deleted_entry_comes_back_only_with_what_is_new(owner: User) -> None:
    delete_entry(merge(owner, "- Ana came. [chat:7]"))
    assert merge(owner, "- Ana came. [chat:7]").deleted_at
    revived = merge(owner, "- Ana came. [chat:7]\n- Bo left. [chat:8]")
    assert (revived.deleted_at, revived.text) == (None, "- Bo left. [chat:8]")


def test_a_late_daily_makes_its_week_and_month_stale(owner: User) -> None:
    week, month = (new_entry(owner, period) for period in (week_of(DAY), month_of(DAY)))
    week.save()
    month.save()
    other = new_entry(owner, week_of(DAY - dt.timedelta(days=7)))
    other.save()
    merge(owner, "- Late. [chat:7]")
    stale = JournalEntry.objects.for_owner(owner).filter(stale=True)
    assert set(stale.values_list("period", flat=True)) == {"2026-W47", "2026-11"}


def test_an_empty_or_endless_daily_is_refused(owner: User) -> None:
    for text in (" \n- [chat:7]", "- " + "x" * 200_001):
        with pytest.raises(Invalid):
            merge(owner, text)
    assert not JournalEntry.objects.for_owner(owner).exists()


def test_two_significant_entries_of_a_day_are_both_kept(owner: User) -> None:
    for title in ("One", "Two"):
        write_significant(owner, period=DAY, title=title, text="It happened.", editor="me")
    assert JournalEntry.objects.for_owner(owner).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_pushes_at_once_are_both_kept() -> None:
    owner = UserFactory()

    def push(number: int) -> None:
        merge(owner, f"- Number {number}. [chat:{number}]")
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(push, range(6)))
    (entry,) = JournalEntry.objects.for_owner(owner)
    assert sorted(entry.chats) == [str(number) for number in range(6)]
