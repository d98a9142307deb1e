"""The leading part of a prompt that is the same as in the last one, which a provider's cache keeps."""

import hashlib
from collections.abc import Mapping, Sequence

MAX_COMPARED = 200  # messages


def digests_of(messages: Sequence[Mapping[str, str]]) -> list[str]:
    """Return short hashes of the leading messages."""
    texts = [f"{message['role']}\n{message['content']}" for message in messages[:MAX_COMPARED]]
    return [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]


def unchanged_count(before: Sequence[str], now: Sequence[str]) -> int:
    """Return how many leading items are the same."""
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count
