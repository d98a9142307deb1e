"""Token counting with a published vocabulary of the models."""

from collections.abc import Iterator
from functools import cache
from typing import Any

ENCODING = "o200k_base"  # used by OpenAI's current models; other models' counts differ by a few percent
# The tokenizer refuses more than 200,000 tokens at once. A character has at most 4, one per byte.
MAX_PIECE_CHARACTERS = 40_000


@cache
def load_encoding() -> Any:
    """Return the tokenizer of this process."""
    # Imported at the first use: reading its vocabularies takes as long as starting all of Django.
    from bpe_openai import get_encoding

    return get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Return the number of tokens of ``text``, of any length. Special tokens such as ``<|endoftext|>`` are plain text.

    A text above MAX_PIECE_CHARACTERS is counted in pieces, each of which may add a token.
    """
    return sum(len(load_encoding().encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Yield consecutive pieces of at most MAX_PIECE_CHARACTERS, which end before a space if they have one."""
    start = 0
    while len(text) - start > MAX_PIECE_CHARACTERS:
        limit = start + MAX_PIECE_CHARACTERS
        space = text.rfind(" ", start + 1, limit)
        end = limit if space == -1 else space
        yield text[start:end]
        start = end
    yield text[start:]
