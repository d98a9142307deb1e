import subprocess
import sys
import time

from hypothesis import given
from hypothesis import strategies as st

from apps.llm.tokens import MAX_PIECE_CHARACTERS, count_tokens, load_encoding
from config.env import ROOT


def test_counts_of_known_texts():
    """Compare to the counts of OpenAI's tokenizer."""
    assert count_tokens("") == 0
    assert count_tokens("tiktoken is great!") == 6
    # 12 tokens by the vocabulary before this one, cl100k_base.
    assert count_tokens("Она улыбнулась.") == 4


def test_half_a_pair_of_surrogates_is_counted():
    assert count_tokens("a\ud800b") == 3


def test_the_package_that_decodes_is_not_loaded():
    program = "import sys; from apps.llm.tokens import count_tokens as c; c('tide'); print('bpe_openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_special_tokens_are_plain_text_in_a_message():
    assert count_tokens("<|endoftext|>") > 1


@given(st.text(), st.text())
def test_a_text_costs_at_most_its_bytes_and_only_nothing_is_free(left, right):
    whole = count_tokens(left + right)
    assert whole <= len((left + right).encode("utf-8"))
    assert (whole == 0) == (left + right == "")


def test_a_text_of_any_length_is_counted_in_seconds():
    """The tokenizer itself refuses more than 200,000 tokens, and more than a few million characters."""
    started = time.monotonic()
    assert count_tokens("漢字仮名" * 100_000) >= 400_000
    assert count_tokens("a" * 3_000_000) > 0
    assert time.monotonic() - started < 100


def test_a_count_in_pieces_differs_by_at_most_a_token_a_piece():
    text = "The tide had gone out further than either of them remembered. " * 2000
    pieces = len(text) // MAX_PIECE_CHARACTERS + 1
    assert abs(count_tokens(text) - len(load_encoding().encode(text))) <= pieces
