from hypothesis import given
from hypothesis import strategies as st

from apps.llm.tokens import count_tokens


def test_counts_of_known_texts():
    """Compare to the counts of OpenAI's tokenizer."""
    assert count_tokens("") == 0
    assert count_tokens("tiktoken is great!") == 6


def test_special_tokens_are_plain_text_in_a_message():
    assert count_tokens("<|endoftext|>") > 1


@given(st.text(), st.text())
def test_a_text_costs_at_most_its_bytes_and_only_nothing_is_free(left, right):
    whole = count_tokens(left + right)
    assert whole <= len((left + right).encode("utf-8"))
    assert (whole == 0) == (left + right == "")
