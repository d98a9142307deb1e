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
