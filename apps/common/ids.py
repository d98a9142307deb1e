"""Identifiers of rows."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """A new version 7 UUID (RFC 9562, section 5.7): 48 bits of Unix milliseconds, 12 of their fraction (section 6.2,
    method 3: steps of 244 ns), then random bits.

    Rows made later sort later, also within a millisecond, so that their order tells which came first, and the index
    on the primary key grows at its end.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = milliseconds << 80 | fraction << 64 | int.from_bytes(os.urandom(8), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
