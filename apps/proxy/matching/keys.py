"""Keys that stand for texts when they are compared. Nothing here reads or writes the database."""

import hashlib
from collections.abc import Sequence
from uuid import UUID

from apps.proxy.requests.texts import normalized, unspaced
from apps.proxy.requests.turns import Turn

SPACING_BITS = 12  # of a key; 50 bits are left for the text


def key_of(owner_id: UUID, *, is_user: bool, text: str) -> int:
    """Return 63 bits that identify an owner's text and its speaker.

    The lowest bit is set for the user, see ``is_by_user``. SPACING_BITS above it tell where words and lines begin.
    """
    letters, spacing = (
        int.from_bytes(hashlib.blake2b(form.encode("utf-8", "replace"), digest_size=8, key=owner_id.bytes).digest())
        for form in (unspaced(text), "\n".join(filter(None, map(normalized, text.splitlines()))))
    )
    return letters >> (2 + SPACING_BITS) << (1 + SPACING_BITS) | spacing >> (64 - SPACING_BITS) << 1 | is_user


def is_by_user(key: int) -> bool:
    """Return whether a key, with or without what it tells about white space, is of a text of the user's."""
    return key & 1 == 1


def unspaced_key(key: int) -> int:
    """Return a key without what it tells about white space."""
    return key >> (1 + SPACING_BITS) << 1 | is_by_user(key)


def keys_of(owner_id: UUID, turns: Sequence[Turn]) -> list[int]:
    """Return the keys of turns."""
    return [key_of(owner_id, is_user=turn.is_user, text=turn.text) for turn in turns]
