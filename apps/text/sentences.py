"""Sentences of texts in any script. Without database access."""

import re
from collections.abc import Iterator

from sentencex import segment

# Up to the end of a paragraph or a sentence behind 2,000 characters: `segment` takes the square of what it is given,
# which is seconds for a chapter in Chinese.
_PIECE = re.compile(r".{2000}.*?(?:\n\n|[。！？｡]+[」』”’）]*)|.+", re.DOTALL)
_MARKED = re.compile(r"[^。！？｡]*[。！？｡]+[」』”’）]*|[^。！？｡]+")  # up to the full stops of Chinese and Japanese


def sentences_in(text: str) -> Iterator[str]:
    """Yield the sentences of a text, stripped, without empty ones."""
    for piece in _PIECE.findall(text):
        for sentence in segment("en", piece):
            yield from (part.strip() for part in _MARKED.findall(sentence) if part.strip())
