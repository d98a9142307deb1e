"""Days and periods that a text names, as lexemes."""

import datetime as dt

import pytest

from apps.text.dates import date_lexemes
from apps.text.periods import MAX_DAYS, day_lexemes, lexemes_between, period_lexemes
from apps.text.words import folded


@pytest.mark.parametrize("text", ["the third of May", "am dritten Mai", "3. Mai", "May 3rd", "五月三日", "5月3日"])
def test_a_day_in_words_has_the_lexeme_of_one_in_figures(text: str) -> None:
    assert "@05-03" in set(date_lexemes(folded(text)))


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("in May 2024", {"@2024-05"}),
        ("winter 2025/26", {"@2025-12", "@2026-01", "@2026-02"}),
        ("im Herbst 2024", {"@2024-09", "@2024-10", "@2024-11"}),
        ("2024年春", {"@2024-03", "@2024-04", "@2024-05"}),
        ("2024-02", {"@2024-02"}),
        ("2024-02 – 2024-03", {"@2024-02", "@2024-03"}),
    ],
)
def test_a_period_has_its_days_and_the_months_that_it_fills(text: str, months: set[str]) -> None:
    found = set(period_lexemes(folded(text)))
    assert {each for each in found if len(each) == len("@2024-05")} == months
    assert {each[: len("@2024-05")] for each in found} == months


def test_of_a_long_period_the_first_days_are_looked_for() -> None:
    first = dt.date(2024, 1, 1)
    days = [each for each in lexemes_between(first, dt.date(2030, 1, 1)) if len(each) == len("@2024-01-01")]
    assert (len(days), days[0]) == (MAX_DAYS, "@2024-01-01")


def test_a_day_is_also_a_day_of_any_year() -> None:
    assert list(day_lexemes(dt.date(2024, 2, 29), dt.date(2024, 2, 29))) == ["@2024-02-29", "@02-29", "@02"]
