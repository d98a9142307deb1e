"""Memory that was freed, and that the C library keeps for later."""

import ctypes
import sys
from contextlib import suppress


def give_back() -> None:
    """Give freed memory back to the system, where the C library can: glibc keeps what lies below what is still used."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
