"""Vector clocks: objects of instance names to counters from 1. An absent instance counts 0. Pure functions."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

Clock = Mapping[str, int]

MAX_COUNTER = 2**53 - 1  # the largest integer that JavaScript keeps exactly
MAX_INSTANCES = 256  # of an owner; a clock names no more


class Order(StrEnum):
    """How a clock stands to another one."""

    EQUAL = "equal"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"


def compare(one: Clock, other: Clock) -> Order:
    """Return how ``one`` stands to ``other``: AFTER if it has seen all of ``other`` and more."""
    names = {*one, *other}
    is_ahead = any(one.get(name, 0) > other.get(name, 0) for name in names)
    is_behind = any(one.get(name, 0) < other.get(name, 0) for name in names)
    if is_ahead and is_behind:
        return Order.CONCURRENT
    if is_ahead:
        return Order.AFTER
    return Order.BEFORE if is_behind else Order.EQUAL


def merge(one: Clock, other: Clock) -> dict[str, int]:
    """Return the smallest clock that has seen both."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in sorted({*one, *other})}


def errors_of(value: Any) -> Iterator[str]:
    """Yield what is wrong with the form of a clock."""
    if not isinstance(value, dict):
        yield "It must be an object of instance names to counters."
    elif len(value) > MAX_INSTANCES:
        yield f"It names more than {MAX_INSTANCES} instances."
    else:
        for name, counter in value.items():
            if isinstance(counter, bool) or not isinstance(counter, int) or not 1 <= counter <= MAX_COUNTER:
                yield f"The counter of {name[:64]!r} must be an integer from 1 to {MAX_COUNTER}."


def unseen_errors(clock: Clock, known: Clock, *, own: str = "") -> Iterator[str]:
    """Yield an error for each counter that nobody can have seen: of an unknown instance, or more than ``known``.

    The counter of ``own`` may be larger than known.
    """
    for name, counter in clock.items():
        if name != own and counter > known.get(name, 0):
            yield f"Nobody but the instance {name[:64]!r} may raise its counter, which is at {known.get(name, 0)}."
