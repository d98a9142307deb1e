"""Token counting with a published vocabulary of the models."""

from functools import cache
from typing import Any

ENCODING = "o200k_base"  # used by OpenAI's current models; other models' counts differ by a few percent


@cache
def load_encoding() -> Any:
    """Return the tokenizer of this process."""
    # Imported at the first use: reading its vocabularies takes as long as starting all of Django.
    from bpe_openai import get_encoding

    return get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Return the number of tokens of ``text``. Special tokens such as ``<|endoftext|>`` count as plain text."""
    return len(load_encoding().encode_ordinary(text))
