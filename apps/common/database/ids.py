"""Primary keys."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """Return a new version 7 UUID (RFC 9562): 48 bits of Unix milliseconds, 12 bits of their fraction, random bits.

    The fraction (section 6.2, method 3, steps of 244 ns) makes ids sort by time of creation even within a
    millisecond, so that new keys are always added at the end of the primary key's index.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = (nanoseconds << 12) // 1_000_000
    value = milliseconds << 80 | fraction << 64 | int.from_bytes(os.urandom(8), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
