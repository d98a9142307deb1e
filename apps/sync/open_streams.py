"""Open event streams, counted for each user over all server processes.

Each stream has a row, which it marks as alive with every heartbeat. The row of a process that was killed counts for
LIFETIME heartbeats more.
"""

import datetime as dt
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.common.problems import Problem, ProblemType
from apps.sync.models import OpenStream

LIFETIME = 3  # heartbeats after which a stream that was not marked is gone


class TooManyStreams(Problem):
    """The user has the maximum number of streams open."""

    status = 429
    type = ProblemType.TOO_MANY_STREAMS
    title = "Too many streams"
    headers = {"Retry-After": "30"}


@transaction.atomic
def register_stream(owner_id: UUID) -> UUID:
    """Count a stream that is opened, and return its id. Raise TooManyStreams."""
    with connection.cursor() as cursor:  # those opened at the same time wait for each other
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"event streams of {owner_id}"])
    streams = OpenStream.objects.for_owner(owner_id)
    streams.filter(seen_at__lt=timezone.now() - LIFETIME * dt.timedelta(seconds=settings.SSE_HEARTBEAT)).delete()
    if streams.count() >= settings.SSE_MAX_PER_USER:
        raise TooManyStreams(f"You have {settings.SSE_MAX_PER_USER} streams open. Close one first.")
    return OpenStream.objects.create(owner_id=owner_id).pk


def mark_stream(owner_id: UUID, stream_id: UUID) -> None:
    """Mark a stream as alive."""
    OpenStream.objects.for_owner(owner_id).filter(pk=stream_id).update(seen_at=timezone.now())


def unregister_stream(owner_id: UUID, stream_id: UUID) -> None:
    """Count a stream no longer."""
    OpenStream.objects.for_owner(owner_id).filter(pk=stream_id).delete()
