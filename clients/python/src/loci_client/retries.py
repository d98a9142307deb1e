"""Retry requests with exponential backoff."""

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
    """Limits of retries.

    ``tries`` is the maximum number of times a request is sent. The pause before the second try is ``first`` seconds; it
    doubles up to ``longest``. Up to half of it is taken off at random, so that clients don't retry in step.
    ``patience`` is the maximum sum of the pauses in seconds. ``rebases`` is the maximum number of times a write is
    rebased onto a newer state.
    """

    tries: int = 8
    first: float = 0.25
    longest: float = 10.0
    patience: float = 60.0
    rebases: int = 100

    def pause(
        self, failures: int, waited: float, asked: float | None, chance: Callable[[], float] = random.random
    ) -> float | None:
        """Return the seconds to wait after the given number of failures, or None to give up.

        ``waited`` is the sum of the pauses so far, ``asked`` the pause that the server asks for.
        """
        own = min(self.longest, self.first * 2 ** min(failures - 1, 30))
        pause = max(asked or 0.0, own * (1 - chance() / 2))
        return None if failures >= self.tries or waited + pause > self.patience else pause


def retried(flow: Flow[T], policy: RetryPolicy) -> Generator[Request, Outcome, T]:
    """Run ``flow`` with retries of each of its requests. Throw Unavailable into it if a request gets no reply."""
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
    """Return the reply to a request, after retries.

    Raise Unavailable if there is none, or if a try got no reply, so that it may have been stored, and no later one did.
    """
    waited = 0.0
    lost: httpx.TransportError | None = None
    for failures in count(1):
        outcome = yield request
        if isinstance(outcome, Reply) and not is_passing(outcome):
            return outcome
        lost = outcome if isinstance(outcome, httpx.TransportError) else lost
        pause = policy.pause(failures, waited, asked_pause(outcome)) if request.repeatable else None
        if pause is None:
            return _last(lost or outcome, request)
        waited += pause
        request = replace(request, after=pause)
    raise AssertionError


def _last(outcome: Outcome, request: Request) -> Reply:
    if isinstance(outcome, Reply):
        return outcome
    raise Unavailable(f"{request.method} {request.path}: {outcome!r}", request.key) from outcome


def is_passing(reply: Reply) -> bool:
    """Return True if a retry may get another reply."""
    return reply.status >= 500 or reply.status in PASSING


def asked_pause(outcome: Outcome) -> float | None:
    """Return the seconds that the header Retry-After asks for, as a number or a date, or None."""
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
