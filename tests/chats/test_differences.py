"""What differs between two versions of a text is marked word by word."""

from apps.chats.templatetags.differences import added, difference, removed


def test_words_that_are_gone_and_new_are_marked_and_nothing_else() -> None:
    before, now = "She waits at the <old> well.", "She waits at the new well."
    assert removed(before, now) == "She waits at the <del>&lt;old&gt;</del> well."
    assert added(now, before) == "She waits at the <ins>new</ins> well."


def test_a_text_without_another_and_one_too_long_to_compare_stay_plain() -> None:
    assert removed("It is <b>gone</b>.", "") == "It is &lt;b&gt;gone&lt;/b&gt;."
    assert added("word " * 3000, "other") == "word " * 3000


def test_a_difference_is_one_text_that_leaves_out_what_is_far_from_it() -> None:
    before, now = "She waits at the <old> well.", "She waits at the new well."
    assert difference(before, now) == "She waits at the <del>&lt;old&gt;</del><ins>new</ins> well."
    far = " ".join(f"word{number}" for number in range(40))
    assert difference(f"red {far}", f"blue {far}") == (
        "<del>red</del><ins>blue</ins> word0 word1 word2 word3 word4 word5 …"
    )
    assert difference("word " * 3000, "other").startswith("word word")
