"""A search that asks about a time prefers what was said then, or speaks of it, and says so."""

import datetime as dt
from typing import Any

import pytest
import time_machine

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.search.indexing import index_messages
from apps.search.reasons import describe_signals
from apps.search.service import SearchQuery, search
from apps.search.times import times_in
from apps.text.lexemes import Lexemes
from apps.text.periods import MAX_TIMES
from tests.factories import UserFactory, make_chat, make_memory

NOW = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
WALK = "We walked along the river and ate plums."


def span(*days: str) -> set[str]:
    first, last = (dt.date.fromisoformat(day) for day in days)
    return {f"@{first + dt.timedelta(days=number)}" for number in range((last - first).days + 1)}


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What did we do last spring?", ("2026-03-01", "2026-05-31")),
        ("What did we do last winter?", ("2025-12-01", "2026-02-28")),
        ("Where were we last week?", ("2026-11-16", "2026-11-22")),
        ("What did I say yesterday?", ("2026-11-26", "2026-11-26")),
        ("Who came two weeks ago?", ("2026-11-13", "2026-11-13")),
        ("Where was she in May 2024?", ("2024-05-01", "2024-05-31")),
        ("Where was she on 12 May, 2023?", ("2023-05-12", "2023-05-12")),
        ("What happened on 15.03.2026?", ("2026-03-15", "2026-03-15")),
        ("What happened in 2023?", ("2023-01-01", "2023-12-31")),
        ("Was haben wir letzten Frühling gemacht?", ("2026-03-01", "2026-05-31")),
        ("Was war im Sommer 2024?", ("2024-06-01", "2024-08-31")),
        ("Wo waren wir letzte Woche?", ("2026-11-16", "2026-11-22")),
        ("Was geschah letzte Woche?", ("2026-11-16", "2026-11-22")),
        ("Letzte Woche?", ("2026-11-16", "2026-11-22")),
        ("Was bought last week?", ("2026-11-16", "2026-11-22")),
        ("Wohin ging sie vor zwei Wochen?", ("2026-11-13", "2026-11-13")),
        ("去年春天我们做了什么？", ("2025-03-01", "2025-05-31")),
        ("上周我说了什么？", ("2026-11-16", "2026-11-22")),
        ("三天前谁来了？", ("2026-11-24", "2026-11-24")),
        ("2025年5月我们去了哪里？", ("2025-05-01", "2025-05-31")),
    ],
)
def test_the_time_of_a_question_is_read(query: str, days: tuple[str, str]) -> None:
    assert {lexeme for lexeme in times_in(query, NOW) if len(lexeme) == len("@2026-03-15")} == span(*days)


@pytest.mark.parametrize(
    ("query", "lexemes"),
    [
        ("What happened on the third of May?", {"@05-03"}),
        ("the twenty-first of June", {"@06-21"}),
        ("Was war am dritten Mai?", {"@05-03"}),
        ("Was war im Mai?", {"@05"}),
        ("Where were we in May?", {"@05"}),
        ("五月三日我们去了哪里？", {"@05-03"}),
        ("五月我们去了哪里？", {"@05"}),
        ("Today I feel sad", set()),
        ("今天很累", set()),
        ("I may go, march on", set()),
        ("room 2024/7, call 19.99 or 1-800-2024-555", set()),
        ("We met on 30.02.2024, and in the week of 99 May 2024", set()),
        ("x " * 2000 + "last spring", set()),
    ],
)
def test_days_and_months_of_any_year_are_read_and_nothing_else(query: str, lexemes: set[str]) -> None:
    assert times_in(query, NOW) == lexemes


def test_of_many_times_the_first_are_read() -> None:
    years = [str(year) for year in range(1950, 2020)]
    found = times_in(" ".join(years[:50]), NOW)
    assert {lexeme[1:5] for lexeme in found} == {*years[:MAX_TIMES]}
    assert times_in("99 May 2024, " * 10 + "in 2023", NOW) == times_in("in 2023", NOW)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(owner: User) -> Chat:
    """The same is said in March and in September, and once in October, of a day in April."""
    others = ["Nothing else.", "How are you?"]
    chat = make_chat(owner, WALK, *others, WALK, *others, f"{WALK} That was on 14 April 2026.")
    for index, month in ((0, 3), (3, 9), (6, 10)):
        moment = dt.datetime(2026, month, 14, 12, tzinfo=dt.UTC)
        Message.objects.for_owner(owner).filter(chat=chat, index=index).update(sent_at=moment)
    index_messages(owner, chat)
    return chat


def found(owner: User, query: str, **options: Any) -> list[tuple[Any, str]]:
    with time_machine.travel(NOW, tick=False):
        results = search(owner, SearchQuery(query, **options)).results
    return [
        (each.message.index if each.message else each.memory.text, describe_signals(each.signals)) for each in results
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When did we walk along the river last spring?", {0, 6}),
        ("Did we walk along the river on the fourteenth of September?", {3}),
        ("Did we walk along the river in September?", {3}),
    ],
)
def test_what_was_said_then_or_speaks_of_it_comes_first(
    owner: User, chat: Chat, query: str, expected: set[int]
) -> None:
    results = found(owner, query, chat=chat.pk, tiers=("messages",))
    assert {index for index, _ in results[: len(expected)]} == expected
    assert {index for index, why in results if "of the time asked for" in why} == expected


def test_a_question_without_a_time_is_ranked_as_before(owner: User, chat: Chat) -> None:
    results = found(owner, "Did we walk along the river?", chat=chat.pk, tiers=("messages",))
    assert {index for index, _ in results[:3]} == {0, 3, 6}
    assert not any("time asked for" in why for _, why in results)


def test_memories_of_the_time_come_first(owner: User, chat: Chat) -> None:
    march, september = (chat.messages.get(index=index) for index in (0, 3))
    for text, message in (("Mira swam in the lake at noon.", march), ("Mira swam in the lake at night.", september)):
        make_memory(chat, text, valid_from=message, lexemes=Lexemes(text))
    for query, first in (("Mira swam last spring", "noon"), ("Mira swam in September 2026", "night")):
        (text, why), *others = found(owner, query, tiers=("long_term",))
        assert first in text
        assert "of the time asked for" in why
        assert not any("time asked for" in why for _, why in others)
