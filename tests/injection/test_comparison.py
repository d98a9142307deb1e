"""Test the comparison of a recall with the one before it."""

from hypothesis import given
from hypothesis import strategies as st

from apps.injection.comparison import compare


def entries(ids):
    return [{"id": pk, "text": f"Text {pk}."} for pk in ids]


def test_it_tells_what_came_went_and_changed_its_place():
    changed = compare(entries("abcd"), entries("cbe"))
    assert (changed.came, changed.went) == (["Text e."], ["Text a.", "Text d."])
    assert [(move.text, move.before, move.after) for move in changed.moved] == [("Text c.", 2, 1), ("Text b.", 1, 2)]


def test_closing_a_gap_is_no_move():
    assert compare(entries("abc"), entries("bc")).moved == []
    assert compare(entries("ab"), entries("ab")).is_empty


@given(st.lists(st.sampled_from("abcdefg"), unique=True), st.lists(st.sampled_from("abcdefg"), unique=True))
def test_the_way_back_is_the_reverse(before, after):
    there, back = compare(entries(before), entries(after)), compare(entries(after), entries(before))
    assert (there.came, there.went) == (back.went, back.came)
    assert {(m.text, m.before, m.after) for m in there.moved} == {(m.text, m.after, m.before) for m in back.moved}
