"""Counts tokens as the models do."""

from functools import cache
from typing import Protocol


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...


class BpeTokenCounter:
    """Counts by a published vocabulary: ``o200k_base`` of current models, ``cl100k_base`` of older ones."""

    def __init__(self, encoding: str = "o200k_base") -> None:
        # Imported when tokens are counted first: it reads its vocabularies, and takes as long as all of Django.
        from bpe_openai import get_encoding

        self._encoding = get_encoding(encoding)

    def count(self, text: str) -> int:
        """Special tokens such as ``<|endoftext|>`` count as the plain text that they are in a message."""
        return len(self._encoding.encode_ordinary(text))


@cache
def get_token_counter(encoding: str = "o200k_base") -> TokenCounter:
    return BpeTokenCounter(encoding)


def count_tokens(text: str) -> int:
    """How many tokens ``text`` costs in a prompt."""
    return get_token_counter().count(text)
