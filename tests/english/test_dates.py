"""Words such as "yesterday" get the date that they mean on the day on which they were said."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.english.dates import with_dates

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
        "It happened the day before yesterday.",
        "The day after tomorrow is a holiday.",
        "A few days ago it rained.",
        "Mira sold the ferry yesterday, on 4 March 2024.",
        "99999999999 days ago there was nothing.",
        "The last weekend was long.",
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
