"""Dailies quote what the runs of a day remembered, where the owner's day begins and ends."""

import datetime as dt

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.journal.dailies import write_dailies
from apps.journal.entries import delete_entry, edit_entry
from apps.memories.models import JournalEntry, Memory
from tests.factories import UserFactory, make_chat, make_memory


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory(time_zone="Europe/Berlin")


@pytest.fixture
def chat(owner: User) -> Chat:
    return make_chat(owner)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"{text}+00:00")


def remember(chat: Chat, text: str, when: str, **fields: object) -> Memory:
    return make_memory(chat, text, created_at=at(when), **fields)


def entries(owner: User) -> dict[tuple[str, str], str]:
    rows = JournalEntry.objects.for_owner(owner).present().order_by("starts", "instance")
    return {(entry.period, entry.instance): entry.text for entry in rows}


def test_a_day_is_written_when_it_is_over_where_the_owner_lives(owner: User, chat: Chat) -> None:
    remember(chat, "Ana rang.", "2026-11-20T22:59")
    remember(chat, "Bo came.", "2026-11-20T23:01")
    assert write_dailies(owner, at("2026-11-20T22:59")) == 0
    assert write_dailies(owner, at("2026-11-20T23:00")) == 1
    assert entries(owner) == {("2026-11-20", ""): f"- Ana rang. [chat:{chat.pk}]"}
    assert write_dailies(owner, at("2026-11-23T12:00")) == 1
    assert list(entries(owner)) == [("2026-11-20", ""), ("2026-11-21", "")]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_day_on_which_the_clocks_change_has_all_its_hours(owner: User, chat: Chat, day: str) -> None:
    for hour in (1, 21):
        remember(chat, f"At {hour}.", f"{day}T{hour:02}:30")
    write_dailies(owner, at("2026-12-01T12:00"))
    assert entries(owner) == {(day, ""): f"- At 1. At 21. [chat:{chat.pk}]"}


def test_each_chat_has_a_bullet_in_the_entry_of_the_instance_that_wrote(owner: User, chat: Chat) -> None:
    other = make_chat(owner, title="Other")
    remember(chat, "Here.", "2026-11-20T10:00")
    remember(other, "There.", "2026-11-20T10:00")
    remember(other, "Far.", "2026-11-20T10:00", source_instance="phone")
    write_dailies(owner, at("2026-11-23T12:00"))
    assert entries(owner) == {
        ("2026-11-20", ""): f"- Here. [chat:{chat.pk}]\n- There. [chat:{other.pk}]",
        ("2026-11-20", "phone"): f"- Far. [chat:{other.pk}] [via:phone]",
    }


def test_the_most_important_is_quoted_first_and_what_is_hidden_or_gone_is_not(owner: User, chat: Chat) -> None:
    remember(chat, "Small.", "2026-11-20T10:00", importance=1)
    remember(chat, "Great.", "2026-11-20T11:00", importance=3)
    remember(chat, "Hidden.", "2026-11-20T10:00", hidden=True)
    remember(chat, "Retired.", "2026-11-20T10:00", state="retired")
    remember(chat, "x" * 500, "2026-11-20T12:00", importance=1)
    write_dailies(owner, at("2026-11-23T12:00"))
    assert entries(owner) == {("2026-11-20", ""): f"- Great. Small. [chat:{chat.pk}]"}


def test_a_second_run_changes_nothing_and_brings_nothing_back(owner: User, chat: Chat) -> None:
    remember(chat, "Ana rang.", "2026-11-20T10:00")
    write_dailies(owner, at("2026-11-23T12:00"))
    entry = JournalEntry.objects.for_owner(owner).get()
    edit_entry(entry, editor="me", text="I rang Ana.")
    assert write_dailies(owner, at("2026-11-23T13:00")) == 0
    assert entries(owner) == {("2026-11-20", ""): "I rang Ana."}
    delete_entry(entry)
    assert write_dailies(owner, at("2026-11-24T13:00")) == 0
    assert entries(owner) == {}


def test_moving_to_another_time_zone_leaves_nothing_out(owner: User, chat: Chat) -> None:
    remember(chat, "Before the flight.", "2026-11-20T10:00")
    write_dailies(owner, at("2026-11-20T23:30"))
    other = make_chat(owner, title="Other")
    remember(other, "After it.", "2026-11-20T23:40")
    owner.time_zone = "America/Los_Angeles"
    write_dailies(owner, at("2026-11-23T12:00"))
    assert entries(owner) == {
        ("2026-11-20", ""): f"- Before the flight. [chat:{chat.pk}]\n- After it. [chat:{other.pk}]"
    }


def test_whoever_moves_westwards_keeps_what_they_live_through_in_a_day_that_is_written(owner: User, chat: Chat) -> None:
    User.objects.filter(pk=owner.pk).update(time_zone="Asia/Tokyo")
    owner.refresh_from_db()
    remember(chat, "In Tokyo.", "2026-11-19T16:00")
    write_dailies(owner, at("2026-11-20T15:00"))
    User.objects.filter(pk=owner.pk).update(time_zone="America/Los_Angeles")
    owner.refresh_from_db()
    remember(chat, "In Los Angeles.", "2026-11-20T20:00")
    for _ in range(2):
        write_dailies(owner, at("2026-11-22T12:00"))
    assert entries(owner) == {("2026-11-20", ""): f"- In Tokyo. [chat:{chat.pk}]\n- In Los Angeles. [chat:{chat.pk}]"}
