"""Test the detection of repeated lines."""

from apps.prompts.filling.fill import is_covered as words_are_covered
from apps.prompts.filling.fill import words_of


def is_covered(line: str, other: str, share: float = 1.0) -> bool:
    return words_are_covered(words_of(line), words_of(other), share)


def test_the_same_words_in_another_order_are_covered():
    assert is_covered("Under the stone lies the key!", "The key lies under the blue stone")


def test_one_other_word_is_another_memory():
    assert not is_covered("The key lies in the north tower.", "The key lies in the south tower of the castle.")
    assert is_covered("The key lies in the north tower.", "The key lies in the south tower.", share=0.7)


def test_a_longer_text_is_not_covered_by_a_part_of_it():
    memory = "The key is under the stone."
    passage = "We walked all night, and she told me that the key is under the stone beside her uncle's broken well."
    assert is_covered(memory, passage)
    assert not is_covered(passage, memory)
    assert not is_covered("…", memory)
