"""Excerpts begin with the sentence that matters."""

from hypothesis import given
from hypothesis import strategies as st

from apps.injection.excerpts import around

BEFORE = "We walked all night. The moon was thin."
KEY = "The key is under the stone."
AFTER = "Then the rain came. We slept in a barn."


def test_short_text_stays_whole_on_one_line():
    assert around("One.\nTwo.", "Two.") == "One. Two."


def test_it_begins_with_the_sentence_and_goes_on_in_whole_words():
    assert around(f"{BEFORE} {KEY} {AFTER}", KEY, 46) == "… The key is under the stone. Then the rain …"


def test_near_the_end_what_came_before_fills_the_room():
    assert around(f"{BEFORE} {KEY}", KEY, 60) == "… The moon was thin. The key is under the stone."


def test_halves_of_marks_are_left_out():
    text = f'*She sat down by the fire and said nothing for a long while.* "{KEY}" {AFTER}'
    assert around(text, KEY, 60).startswith('… "The key is under')


@given(st.text(), st.text(), st.integers(10, 400))
def test_never_longer_than_asked_and_always_one_line(text, sentence, limit):
    excerpt = around(text, sentence, limit)
    assert len(excerpt) <= limit
    assert len(excerpt.splitlines()) <= 1
