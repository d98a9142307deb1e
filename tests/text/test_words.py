"""Words of texts in any script, codes, and sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.text.sentences import sentences_in
from apps.text.words import characters, codes, divided, folded, pairs, word_count, words_of
from tests.durations import takes_at_most


def test_words_are_folded_and_counted_as_their_script_demands() -> None:
    assert folded("Ｃａｆé Ёж Straße ЙОД") == "cafe еж strasse йод"
    assert words_of("Tom的猫叫豆包") == ["tom", "的猫", "猫叫", "叫豆", "豆包"]
    assert word_count("The boat.") == 2
    assert word_count("青铜钥匙在哪里") == 4


@given(st.text())
def test_folding_a_folded_text_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_words_are_divided_at_spaces_marks_and_humps() -> None:
    assert divided("getName: a_b, 3.5 猫 don't") == "get Name a b 3 5 don t"


def test_a_run_without_spaces_is_its_pairs_and_its_characters() -> None:
    assert list(pairs("猫。豆包子, ok")) == ["猫", "豆包", "包子"]
    assert list(characters("猫。豆包子, ok")) == ["豆", "包", "子"]
    assert list(pairs("ที่")) == ["ที่"]  # a consonant with its marks is one character


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ADR-0003", {"adr0003"}),
        ("1,250 or 12 000", {"1250", "12000"}),
        ("C++ and F#", {"c++", "f#"}),
        ("getName", {"getname"}),
        ("Zürich", {"zuerich"}),
        ("plain words", set()),
        ("x-" * 100 + "x", set()),
    ],
)
def test_a_code_is_found_as_its_parts_together(text: str, found: set[str]) -> None:
    assert set(codes(text)) == found


def test_sentences_end_at_the_full_stops_of_their_script() -> None:
    assert list(sentences_in("We met Dr. Wu.  She left! 我走了。他说：“好。”然后睡了")) == [
        "We met Dr. Wu.",
        "She left!",
        "我走了。",
        "他说：“好。”",
        "然后睡了",
    ]
    assert list(sentences_in(" \n ")) == []


def test_a_chapter_is_divided_into_sentences_in_no_time() -> None:
    chapter = "他说：“好。我们走吧！”她没有回答？天黑了。\n" * 5000
    with takes_at_most(1):  # second; it was eight and more
        assert list(sentences_in(chapter)) == [*("他说：“好。", "我们走吧！”", "她没有回答？", "天黑了。")] * 5000
