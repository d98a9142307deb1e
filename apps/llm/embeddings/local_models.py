"""What the models that run in this process share: a lock, threads that give way to other requests, and unit vectors."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np

NICENESS, PATIENT_THREADS = 15, 2
MIN_LENGTH = 1e-12  # a shorter vector, which has no direction, stays as short

_lock = threading.Lock()


@contextmanager
def loading() -> Iterator[None]:
    """Let one thread at a time load a model.

    Else each thread that comes before it is loaded would load one, of 180 MB while it does.
    """
    with _lock:
        yield


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)  # the thread that held it does not survive the fork


def patient_threads() -> ThreadPoolExecutor:
    """Return threads that get the processor after all others."""
    return ThreadPoolExecutor(PATIENT_THREADS, "embedding", lower_priority_of_thread)


def lower_priority_of_thread() -> None:
    """Let the current thread wait for other threads and programs. Only Linux has priorities of threads."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return the rows, each with the length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MIN_LENGTH)
