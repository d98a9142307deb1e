"""The one place that asks for the time, so that tests and callers can pass another."""

import datetime as dt

from django.utils import timezone


def now() -> dt.datetime:
    """The current time, aware, in UTC."""
    return timezone.now()
