"""Requests tried again: when, after how long, and until when."""

import datetime as dt
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TypeAlias, TypeVar

import httpx

from loci_client.errors import Unavailable
from loci_client.requests import Flow, Reply, Request

PASSING = {408, 425, 429}  # as are all 5xx

T = TypeVar("T")
Outcome: TypeAlias = Reply | httpx.TransportError


@dataclass(frozen=True)
class RetryPolicy:
    """How long to try.

    ``tries``: how often a request is sent at most. ``first`` and ``longest``: seconds before the second try, doubling
    up to; a random part, up to the half, is taken off, so that many clients don't come back at once.
    ``patience``: seconds of waiting in all. ``rebases``: how often a write is brought onto a newer state.
    """

    tries: int = 8
    first: float = 0.25
    longest: float = 10.0
    patience: float = 60.0
    rebases: int = 100

    def pause(
        self, failures: int, waited: float, asked: float | None, chance: Callable[[], float] = random.random
    ) -> float | None:
        """Seconds to wait after ``failures`` and ``waited`` seconds; ``asked`` for by the server. None to give up."""
        own = min(self.longest, self.first * 2 ** min(failures - 1, 30))
        pause = max(asked or 0.0, own * (1 - chance() / 2))
        return None if failures >= self.tries or waited + pause > self.patience else pause


def retried(flow: Flow[T], policy: RetryPolicy) -> Generator[Request, Outcome, T]:
    """``flow``, each of its requests tried again until it is answered. It is thrown Unavailable where none comes."""
    try:
        request = next(flow)
        while True:
            try:
                reply = yield from answered(request, policy)
            except Unavailable as error:
                request = flow.throw(error)
            else:
                request = flow.send(reply)
    except StopIteration as end:
        result: T = end.value
        return result


def answered(request: Request, policy: RetryPolicy) -> Generator[Request, Outcome, Reply]:
    """The reply, a passing error being the last. Raises Unavailable where there is none."""
    waited = 0.0
    for failures in count(1):
        outcome = yield request
        if isinstance(outcome, Reply) and not is_passing(outcome):
            return outcome
        pause = policy.pause(failures, waited, asked_pause(outcome)) if request.repeatable else None
        if pause is None:
            return _last(outcome, request)
        waited += pause
        request = replace(request, after=pause)
    raise AssertionError


def _last(outcome: Outcome, request: Request) -> Reply:
    if isinstance(outcome, Reply):
        return outcome
    raise Unavailable(f"{request.method} {request.path}: {outcome!r}", request.key) from outcome


def is_passing(reply: Reply) -> bool:
    """Whether the same request may well be answered otherwise later."""
    return reply.status >= 500 or reply.status in PASSING


def asked_pause(outcome: Outcome) -> float | None:
    """Seconds of the header Retry-After, which may be a date; None where there is none that can be read."""
    header = outcome.headers.get("retry-after") if isinstance(outcome, Reply) else None
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment.astimezone(dt.UTC) - dt.datetime.now(dt.UTC)).total_seconds())
