"""Identifiers of rows."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """A new version 7 UUID (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits.

    Rows made later sort later, so that the index on the primary key grows at its end.
    """
    milliseconds = time.time_ns() // 1_000_000
    value = milliseconds << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
