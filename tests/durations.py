"""CPU time that a test allows, on a machine of any speed and however busy: measured by a baseline beside it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

BASELINE_SECONDS = 0.1  # of CPU time that the baseline takes on the machine that limits are given for


def _baseline() -> float:
    began = time.process_time()
    counts: dict[str, int] = {}
    for number in range(400_000):
        word = str(number % 1000)
        counts[word] = counts.get(word, 0) + 1
    return time.process_time() - began


@contextmanager
def takes_at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes more CPU time than ``seconds``, or more where the baseline takes longer beside it."""
    before = _baseline()
    began = time.process_time()
    yield
    taken = time.process_time() - began
    slowness = max(before, _baseline(), BASELINE_SECONDS) / BASELINE_SECONDS
    assert taken < seconds * slowness, f"{taken:.2f} s, where the baseline takes {slowness:.1f} times its time"
