"""Which cases of a promise the gate tries, and which `make test-explore` tries besides."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], count: int) -> list[Any]:
    """Return all cases for ``parametrize``; those that the gate leaves to ``make test-explore`` bear its mark.

    The gate tries ``count`` of them, as far apart in the list as they can be.
    """
    listed = list(cases)
    chosen = {round(number * (len(listed) - 1) / max(count - 1, 1)) for number in range(count)}
    return [case if number in chosen else further(case) for number, case in enumerate(listed)]


def further(case: Any) -> Any:
    """Return a case for ``parametrize`` that only `make test-explore` tries."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.explore)


def paired(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return all pairs for ``parametrize``; the gate tries as many as give each value of both a turn."""
    ones, others = list(first), list(second)
    turns = range(max(len(ones), len(others)))
    chosen = {(number % len(ones), number % len(others)) for number in turns}
    pairs = ((row, column) for row in range(len(ones)) for column in range(len(others)))
    return [
        (ones[row], others[column]) if (row, column) in chosen else further((ones[row], others[column]))
        for row, column in pairs
    ]
