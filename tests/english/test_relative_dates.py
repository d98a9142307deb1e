"""Words such as "yesterday" get the date that they mean on the day on which they were said."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.english.relative_dates import with_dates
from tests.durations import takes_at_most

TUESDAY = dt.date(2024, 3, 5)


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("Mira sold the ferry yesterday.", "Mira sold the ferry yesterday (4 March 2024)."),
        ("Yesterday evening it rained.", "Yesterday evening (4 March 2024) it rained."),
        ("Tom slept badly last night.", "Tom slept badly last night (4 March 2024)."),
        ("They meet tomorrow.", "They meet tomorrow (6 March 2024)."),
        ("She arrived today.", "She arrived today (5 March 2024)."),
        ("It burnt down three days ago.", "It burnt down three days ago (2 March 2024)."),
        ("It burnt down 10 days ago.", "It burnt down 10 days ago (24 February 2024)."),
        ("He moved last week.", "He moved last week (the week of 26 February 2024)."),
        ("He moves next month.", "He moves next month (April 2024)."),
        ("She left last year.", "She left last year (2023)."),
        ("It happened the day before yesterday.", "It happened the day before yesterday (3 March 2024)."),
        ("The day after tomorrow is a holiday.", "The day after tomorrow (7 March 2024) is a holiday."),
        ("A few days ago it rained.", "A few days ago (shortly before 5 March 2024) it rained."),
        (
            "I was born in 1987 and got engaged yesterday.",
            "I was born in 1987 and got engaged yesterday (4 March 2024).",
        ),
        ("Yesterday I paid 2000 euros.", "Yesterday (4 March 2024) I paid 2000 euros."),
        ("He was born three weeks ago.", "He was born three weeks ago (13 February 2024)."),
        ("I quit two years ago.", "I quit two years ago (2022)."),
        ("Six months ago I moved.", "Six months ago (September 2023) I moved."),
        ("In two weeks I marry.", "In two weeks (19 March 2024) I marry."),
        ("Last Friday he sold it.", "Last Friday (1 March 2024) he sold it."),
        ("On Sunday she adopted a dog.", "On Sunday (3 March 2024) she adopted a dog."),
        ("On Sunday I will fly.", "On Sunday (10 March 2024) I will fly."),
        ("Next Friday I fly.", "Next Friday (15 March 2024) I fly."),
        ("Last summer he lost his job.", "Last summer (summer 2023) he lost his job."),
        ("Last weekend she won.", "Last weekend (the weekend of 2 March 2024) she won."),
        ("I'm driving him down on the 19th.", "I'm driving him down on the 19th (19 March 2024)."),
        ("She had it on the 19th.", "She had it on the 19th (19 February 2024)."),
    ],
)
def test_a_relative_date_is_followed_by_the_date(said: str, dated: str) -> None:
    assert with_dates(said, TUESDAY) == dated
    assert with_dates(dated, TUESDAY) == dated


@pytest.mark.parametrize(
    "said",
    [
        "Mira sold the ferry.",
        "She read yesterday's paper.",
        "Mira sold the ferry yesterday, on 4 March 2024.",
        "99999999999 days ago there was nothing.",
        "The last weekend was long.",
        "I live on the 4th floor.",
        "They met on the 4th of May.",
    ],
)
def test_what_has_no_certain_date_stays_as_it_is(said: str) -> None:
    assert with_dates(said, TUESDAY) == said


@given(st.text(max_size=80), st.dates(dt.date(1970, 1, 1), dt.date(2200, 1, 1)))
def test_nothing_but_brackets_is_added(text: str, day: dt.date) -> None:
    assert with_dates(f"{text} last month", day).startswith(text)


@given(st.dates(dt.date(1970, 1, 1), dt.date(2200, 1, 1)))
def test_the_months_around_any_day_are_named(day: dt.date) -> None:
    first = day.replace(day=1)
    before = first - dt.timedelta(days=1)
    assert with_dates("last month", day) == f"last month ({before:%B %Y})"
    after = (first + dt.timedelta(days=31)).replace(day=1)
    assert with_dates("next month", day) == f"next month ({after:%B %Y})"


@pytest.mark.parametrize("text", ["a-" * 20_000, "2026-" * 8_000, f"{'sk-' * 13_000} days ago"])
def test_a_long_text_without_spaces_takes_no_time(text: str) -> None:
    with takes_at_most(1):  # second; it was a minute and more
        assert with_dates(text, dt.date(2024, 3, 5)) == text
