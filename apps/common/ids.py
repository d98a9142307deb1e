"""Primary keys."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """Return a new version 7 UUID (RFC 9562): 48 bits of Unix milliseconds, 12 bits of their fraction, random bits.

    The fraction (section 6.2, method 3, steps of 244 ns) makes ids sort by time of creation also within a
    millisecond, and the index on the primary key grows at its end only.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = milliseconds << 80 | fraction << 64 | int.from_bytes(os.urandom(8), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
