"""Rate limits, counted in the database for all processes together.

Each key has one time up to which its allowance is used: a request moves it on by its share of the window, one that
costs more by several shares, and is refused if that is more than one window ahead (the generic cell rate algorithm). So
the allowance comes back evenly, and one statement both counts and decides.
"""

import math
import re
from dataclasses import dataclass
from functools import cache

from django.db import connection

PERIODS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds
TAKE = """
    INSERT INTO common_ratelimit AS taken (key, used_until)
    VALUES (%(key)s, clock_timestamp() + %(share)s * interval '1 second')
    ON CONFLICT (key) DO UPDATE
    SET used_until = greatest(taken.used_until, clock_timestamp()) + %(share)s * interval '1 second'
    WHERE greatest(taken.used_until, clock_timestamp()) + %(share)s * interval '1 second'
        <= clock_timestamp() + %(window)s * interval '1 second'
    RETURNING extract(epoch FROM used_until - clock_timestamp())
"""
USED = "SELECT extract(epoch FROM used_until - clock_timestamp()) FROM common_ratelimit WHERE key = %s"
DELETE_UNUSED = "DELETE FROM common_ratelimit WHERE used_until < clock_timestamp()"


@dataclass(frozen=True)
class Rate:
    """Number of requests that are allowed in a window of seconds."""

    limit: int
    window: int

    @classmethod
    @cache
    def parse(cls, text: str) -> "Rate | None":
        """Return the rate of a text such as ``600/m`` or ``5/10m``; None for an empty text. Raise ValueError."""
        if not text:
            return None
        match = re.fullmatch(r"([1-9]\d{0,8})/(\d{0,6})([smhd])", text)
        if match is None:
            raise ValueError(f"{text!r} is not a rate such as 600/m: a number, a slash, and one of s, m, h, d.")
        return cls(int(match[1]), int(match[2] or 1) * PERIODS[match[3]])


@dataclass(frozen=True)
class Allowance:
    """What is left to a key after a request, which was allowed or not and has the ``cost``. Times are in seconds."""

    rate: Rate
    is_allowed: bool
    used: float
    cost: int = 1

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response."""
        headers = {
            "RateLimit-Limit": str(self.rate.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(math.ceil(max(self.used, 0))),
        }
        return headers if self.is_allowed else headers | {"Retry-After": str(self.retry_after)}

    @property
    def remaining(self) -> int:
        """Return how many requests are allowed at once now."""
        left = (self.rate.window - max(self.used, 0)) * self.rate.limit / self.rate.window
        return max(math.floor(left + 1e-6), 0) if self.is_allowed else 0

    @property
    def retry_after(self) -> int:
        """Return after how many seconds one more request of the same cost is allowed."""
        share = self.cost * self.rate.window / self.rate.limit
        return max(math.ceil(self.used + share - self.rate.window), 1)


def take(key: str, rate: Rate, cost: int = 1) -> Allowance:
    """Count a request of ``key``, unless it is refused, and return what is left.

    It counts as ``cost`` requests. One that costs more than the limit is allowed when all of the allowance is there.
    Call it outside of a transaction, which would hold the row, and forget the request if it is rolled back.
    """
    cost = min(cost, rate.limit)
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"key": key, "share": cost * rate.window / rate.limit, "window": rate.window})
        row = cursor.fetchone()
        if row is not None:
            return Allowance(rate, True, float(row[0]), cost)
        cursor.execute(USED, [key])
        row = cursor.fetchone()
    return Allowance(rate, False, float(row[0]) if row else 0.0, cost)


def delete_unused() -> None:
    """Delete the rows of keys that have their whole allowance."""
    with connection.cursor() as cursor:
        cursor.execute(DELETE_UNUSED)
