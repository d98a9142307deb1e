"""Writes beside a transaction that has published and stays open for a minute: none takes longer than without it."""

import sys
from collections.abc import Callable, Sequence
from statistics import quantiles
from typing import Any

import pytest

from tests.sync.test_publishing import clients as clients
from tests.sync.test_publishing import published, write

ALONE, BESIDE = 20, 60  # seconds of writes
FEWEST = 200  # writes

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]


def figures(durations: Sequence[float]) -> str:
    hundredths = quantiles(durations, n=100)
    p50, p95, longest = (1000 * seconds for seconds in (hundredths[49], hundredths[94], max(durations)))
    return f"{len(durations)} writes, p50 {p50:.1f} ms, p95 {p95:.1f} ms, longest {longest:.1f} ms"


def test_a_transaction_of_a_minute_keeps_no_write_waiting(
    kept_celery_worker: Callable[..., None], clients: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    kept_celery_worker("interactive")  # which sets up how it is woken
    write(clients, 2)
    alone = write(clients, ALONE)
    with published():
        beside = write(clients, BESIDE)
    with capsys.disabled():
        sys.stdout.write(f"\nalone: {figures(alone)}\nbeside a transaction of {BESIDE} s: {figures(beside)}\n")
    assert len(beside) >= FEWEST
    assert quantiles(beside, n=100)[94] < 2 * quantiles(alone, n=100)[94]
    assert max(beside) < BESIDE / 6
