"""What instances share of a chat is gone with it."""

import datetime as dt

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.chats.operations import purge_chat
from apps.journal.consolidation import consolidate
from apps.journal.entries import edit_entry, entry_of, merge_daily
from apps.memories.journal.periods import ancestors, day
from apps.memories.models import JournalEntry
from apps.memories.operations.memories import edit_memory
from tests.factories import make_chat, make_memory
from tests.instances.conftest import KEY, daily, memory, pull, push
from tests.snapshots.making import made, restored

OTHER_KEY = KEY[:-1] + "2"
TABLES = ("instances_item", "instances_itemversion", "instances_conflict", "memories_journalentry")


def texts_with(word: str) -> int:
    with connection.cursor() as cursor:
        counts = " + ".join(f"(SELECT count(*) FROM {name} t WHERE t::text LIKE %(word)s)" for name in TABLES)
        cursor.execute(f"SELECT {counts}", {"word": f"%{word}%"})
        return cursor.fetchone()[0]


def test_texts_of_a_chat_deleted_for_good_are_erased_and_instances_learn_of_it(alice: APIClient) -> None:
    chat, other = make_chat(alice.user, "Hello."), make_chat(alice.user, "Hello.")
    secret, kept = make_memory(chat, "The violet key is hidden."), make_memory(other, "The amber key is lost.")
    since = pull(alice, "desk")["clock"]
    edit_memory(secret, editor="alice@example.com", text="The violet key is found.")
    shared = next(each for each in pull(alice, "phone")["memories"] if each["id"] == str(secret.pk))
    known = {name: value for name, value in shared["clock"].items() if value <= since.get(name, 0)}
    concurrent = shared | {"text": "The violet key is sold.", "clock": known | {"desk": 1}, "instance": "desk"}
    assert push(alice, "desk", memories=[concurrent])["conflicts"]
    assert texts_with("violet") >= 3
    purge_chat(alice.user, chat.pk)
    assert texts_with("violet") == 0
    page = pull(alice, "phone")
    assert [each["text"] for each in page["memories"]] == [kept.text]
    assert str(secret.pk) in {each["id"] for each in page["tombstones"]}
    assert texts_with("violet") == 0


def test_bullets_of_a_chat_deleted_for_good_are_erased_and_instances_learn_of_it(alice: APIClient) -> None:
    chat, other = make_chat(alice.user, "Hello."), make_chat(alice.user, "Hello.")
    kept = f"- Lost the amber key. [chat:{other.pk}]"
    push(alice, "desk", memories=[daily("desk", {"desk": 1}, f"{kept}\n- Hid the violet key. [chat:{chat.pk}]")])
    shared = pull(alice, "phone")["memories"][0]
    text = shared["text"].replace("Hid the", "Sold the")
    entry = daily("desk", shared["clock"] | {"desk": 2}, f"{text}\n- Slept. [chat:sofa]", id=shared["id"])
    push(alice, "desk", memories=[entry])
    assert texts_with("violet") >= 2  # the text and a version
    purge_chat(alice.user, chat.pk)
    assert texts_with("violet") == 0
    page = pull(alice, "phone", since=shared["clock"])
    assert [each["text"] for each in page["memories"]] == [f"{kept}\n- Slept. [chat:sofa]"]
    assert texts_with("violet") == 0


def test_what_a_model_told_of_a_chat_in_weeks_months_and_years_is_erased(alice: APIClient) -> None:
    """Prose has no tags. What is not due yet is made again too, and what instances or a person wrote stays."""
    chat, other = make_chat(alice.user, "Hello."), make_chat(alice.user, "Hello.")
    today = dt.date.today()
    bullets = f"- Hid the violet key. [chat:{chat.pk}]\n- Lost the amber key. [chat:{other.pk}]"
    merge_daily(alice.user, period=today, instance="", text=bullets)
    periods = ancestors(day(today))
    for period in periods:
        consolidate(alice.user.pk, period)
    rows = JournalEntry.objects.for_owner(alice.user).exclude(granularity="daily")
    for text in ("They hid the violet key.", "They hid a violet key."):
        rows.update(text=text, stale=False)
        pull(alice, "desk")
    [week] = [each for each in pull(alice, "phone")["memories"] if each["tier"] == "weekly"]
    known = {"loci": week["clock"]["loci"] - 1}
    theirs = week | {"text": "An amber key.", "instance": "desk", "clock": known | {"desk": 1}}
    assert push(alice, "desk", memories=[theirs])["conflicts"]
    assert texts_with("violet") > 6
    purge_chat(alice.user, chat.pk)
    assert texts_with("violet") == 0
    texts = {each["tier"]: each["text"] for each in pull(alice, "desk")["memories"]}
    assert texts.keys() == {"daily", "weekly", "monthly", "yearly"}
    assert all("amber" in text for text in texts.values())
    assert texts_with("violet") == 0


def test_a_persons_own_account_of_the_week_stays_when_a_chat_goes(alice: APIClient) -> None:
    chat = make_chat(alice.user, "Hello.")
    today = dt.date.today()
    merge_daily(alice.user, period=today, instance="", text=f"- Hid the violet key. [chat:{chat.pk}]")
    week = ancestors(day(today))[0]
    consolidate(alice.user.pk, week)
    entry = entry_of(alice.user.pk, week)
    assert entry is not None
    edit_entry(entry, editor="me", text="My violet week.")
    pull(alice, "desk")
    purge_chat(alice.user, chat.pk)
    entry.refresh_from_db()
    assert entry.text == "My violet week."
    assert "My violet week." in [each["text"] for each in pull(alice, "desk")["memories"]]


def test_a_late_push_brings_back_no_memory_of_a_chat_deleted_for_good(alice: APIClient) -> None:
    """Neither one that is repeated, nor one that was edited meanwhile, nor one that the deletion had seen."""
    chat = make_chat(alice.user, "Hello.")
    first = memory("desk", {"desk": 1}, "The violet key is hidden.", chat=str(chat.pk))
    push(alice, "desk", memories=[first])
    push(
        alice,
        "phone",
        memories=[first | {"text": "The violet key is lost.", "clock": {"desk": 1, "phone": 1}, "instance": "phone"}],
    )
    purge_chat(alice.user, chat.pk)
    edited = first | {"text": "The violet key is sold.", "clock": {"desk": 2}}
    for entry in (first, edited, first):
        reply = push(alice, "desk", memories=[entry])
        assert (reply["applied"], reply["merged"]) == (0, 0)
        assert texts_with("violet") == 0
    tombstones = pull(alice, "phone")["tombstones"]
    assert [each["id"] for each in tombstones] == [KEY]
    knowing = first | {"text": "An amber key.", "clock": tombstones[0]["clock"] | {"desk": 3}}
    assert push(alice, "desk", memories=[knowing])["applied"] == 1


def test_a_late_push_of_a_day_brings_back_no_bullet_of_a_chat_deleted_for_good(alice: APIClient) -> None:
    chat = make_chat(alice.user, "Hello.")
    entry = daily("desk", {"desk": 1}, f"- Hid the violet key. [chat:{chat.pk}]\n- Slept. [chat:sofa]")
    alone = daily("desk", {"desk": 2}, f"- A violet sky. [chat:{chat.pk}]", period="2026-11-19", id=OTHER_KEY)
    push(alice, "desk", memories=[entry, alone])
    purge_chat(alice.user, chat.pk)
    late = entry | {"text": f"{entry['text']}\n- Woke. [chat:bed]", "clock": {"desk": 3}}
    for _ in range(2):
        push(alice, "desk", memories=[late, entry, alone])
        assert texts_with("violet") == 0
    assert [each["text"] for each in pull(alice, "phone")["memories"]] == ["- Slept. [chat:sofa]\n- Woke. [chat:bed]"]


@pytest.mark.django_db(transaction=True)
def test_a_chat_that_a_snapshot_has_brought_back_takes_pushes_again(alice: APIClient) -> None:
    chat = make_chat(alice.user, "Hello.")
    first = memory("desk", {"desk": 1}, "The violet key is hidden.", chat=str(chat.pk))
    push(alice, "desk", memories=[first])
    snapshot = made(alice.user, chat)
    purge_chat(alice.user, chat.pk)
    assert texts_with("violet") == 0
    restored(snapshot)
    reply = push(alice, "desk", memories=[first | {"text": "The violet key is sold.", "clock": {"desk": 2}}])
    assert [each["reason"] for each in reply["conflicts"]] != ["deleted"]
    assert texts_with("violet key is sold") >= 1
