"""Threads of the web server in which what takes long gives way to all other requests."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

NICENESS, PATIENT_THREADS = 15, 2


def patient_threads() -> ThreadPoolExecutor:
    """Return threads that get the processor after all others."""
    return ThreadPoolExecutor(PATIENT_THREADS, "embedding", lower_priority_of_thread)


def lower_priority_of_thread() -> None:
    """Let the current thread wait for other threads and programs. Only Linux has priorities of threads."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
