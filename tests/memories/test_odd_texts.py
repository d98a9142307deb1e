"""Odd texts and dates stop neither a run nor a search."""

import datetime as dt
import time
from zoneinfo import ZoneInfo

import pytest
from rest_framework.test import APIClient

from apps.chats.dates import day_of
from apps.english.requests import without_handed_over
from apps.memories.relative_dates import dated
from apps.memories.trigger_words import words_said
from apps.search.questions import parse_query
from tests.contract.conftest import client_of
from tests.factories import UserFactory

MORNING = dt.datetime(2026, 3, 4, 8, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Ge\u017ftern war ich mit meiner Schwester in Kiel und wir haben dort zu Mittag gegessen.",
        "I was in Kiel la\u017ft week and ye\u017fterday.",
        f"That was {'1' * 5000} days ago.",
    ],
)
def test_what_only_looks_like_a_relative_date_is_left_as_it_is(text: str) -> None:
    assert dated(text, MORNING, dt.UTC) == text


def test_the_ends_of_the_calendar_have_days() -> None:
    first = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
    assert day_of(first, ZoneInfo("America/New_York")) == dt.date(1, 1, 1)
    assert dated("Gestern war ich mit meiner Schwester und meinem Bruder in Kiel.", first, dt.UTC).startswith(
        "Gestern war"
    )


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["J" + "a\u00e4" * 1200, "\u0e01" + "\u0e48" * 700])
def test_a_word_that_is_too_long_for_the_index_is_left_out(text: str) -> None:
    api: APIClient = client_of(UserFactory())
    body = {"text": f"{text} lives in Kiel.", "tier": "long_term", "kind": "fact"}
    assert api.post("/api/v1/memories/", body, format="json").status_code == 201
    found = api.post("/api/v1/memories/search/", {"query": f"{text} Kiel"}, format="json")
    assert found.status_code == 200
    assert len(found.data["results"]) == 1


def test_long_texts_take_no_time_that_grows_with_their_square() -> None:
    began = time.process_time()
    without_handed_over("\n" * 60_000)
    assert len(words_said("水" * 300_000)) < 100_000
    assert (
        len(parse_query("\n".join(f"key{n}: value {n}" for n in range(2000)), [], separate_names=True).subjects) < 100
    )
    assert time.process_time() - began < 10  # seconds; minutes before
