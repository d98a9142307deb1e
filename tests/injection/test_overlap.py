"""Test the detection of repeated lines."""

from apps.injection.retrieval.overlap import is_covered


def test_the_same_words_in_another_order_are_covered():
    assert is_covered("Under the stone is the key!", "The key lies under the blue stone")


def test_a_longer_text_is_not_covered_by_a_part_of_it():
    memory = "The key is under the stone."
    passage = "We walked all night, and she told me that the key is under the stone beside her uncle's broken well."
    assert is_covered(memory, passage)
    assert not is_covered(passage, memory)
    assert not is_covered("…", memory)
