"""Test excerpts around a sentence."""

from hypothesis import given
from hypothesis import strategies as st

from apps.prompts.retrieval.excerpts import excerpt_around
from tests.durations import takes_at_most

BEFORE = "We walked all night. The moon was thin."
KEY = "The key is under the stone."
AFTER = "Then the rain came. We slept in a barn."


def test_short_text_stays_whole_on_one_line():
    assert excerpt_around("One.\nTwo.", "Two.") == "One. Two."


def test_it_begins_with_the_sentence_and_ends_with_a_whole_word():
    assert excerpt_around(f"{BEFORE} {KEY} {AFTER}", KEY, 46) == "… The key is under the stone. Then the rain …"


def test_near_the_end_earlier_sentences_fill_the_room():
    assert excerpt_around(f"{BEFORE} {KEY}", KEY, 60) == "… The moon was thin. The key is under the stone."


def test_unpaired_quotation_marks_are_left_out():
    text = f'*She sat down by the fire and said nothing for a long while.* "{KEY}" {AFTER}'
    assert excerpt_around(text, KEY, 60).startswith('… "The key is under')


@given(st.text(), st.text(), st.integers(10, 400))
def test_it_is_one_line_and_never_longer_than_the_limit(text, sentence, limit):
    excerpt = excerpt_around(text, sentence, limit)
    assert len(excerpt) <= limit
    assert len(excerpt.splitlines()) <= 1


def test_thousands_of_quotations_that_nothing_closes_take_no_time():
    with takes_at_most(5):
        assert excerpt_around(f"{KEY} {'“Ab. ' * 60_000}", KEY).startswith(KEY)
