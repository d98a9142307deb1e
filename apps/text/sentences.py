"""Sentences of texts in any script. Without database access."""

import re
from collections.abc import Iterator

from sentencex import segment

_MARKED = re.compile(r"[^。！？｡]*[。！？｡]+[」』”’）]*|[^。！？｡]+")  # up to the full stops of Chinese and Japanese


def sentences_in(text: str) -> Iterator[str]:
    """Yield the sentences of a text, stripped, without empty ones."""
    for sentence in segment("en", text):
        yield from (part.strip() for part in _MARKED.findall(sentence) if part.strip())
