"""Dates in the list of chats are as short as possible."""

import datetime as dt

import pytest
import time_machine

from apps.chats.templatetags.date_filters import short_date


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ((2024, 1, 2, 0, 0), "today"),
        ((2024, 1, 1, 23, 59), "yesterday"),
        ((2024, 1, 3, 0, 0), "3 Jan"),
        ((2023, 12, 31, 23, 59), "31 Dec 2023"),
    ],
)
@time_machine.travel("2024-01-02 12:00Z")
def test_days_in_few_words(moment, words):
    assert short_date(dt.datetime(*moment, tzinfo=dt.UTC)) == words
