"""Time measurement of calls."""

import statistics
import time
from collections.abc import Callable


def milliseconds(call: Callable[[], object]) -> float:
    """Return the duration of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Run every call once a round, so that noise affects all alike. Return the durations in milliseconds by name."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(milliseconds(call))
    return times


def summary(times: list[float]) -> str:
    """Return median and 95th percentile as text."""
    p95 = statistics.quantiles(times, n=20)[-1]
    return f"p50 {statistics.median(times):7.2f} ms   p95 {p95:7.2f} ms"


def ratio(times: list[float], baseline: list[float]) -> float:
    """Return the ratio of the medians."""
    return statistics.median(times) / statistics.median(baseline)
