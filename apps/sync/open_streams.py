"""Open event streams, counted for each user over all server processes.

Each stream holds a lease, which it renews with every heartbeat. That of a process that was killed counts for LIFETIME
heartbeats more.
"""

import datetime as dt
import uuid
from uuid import UUID

from django.conf import settings

from apps.common import leases
from apps.common.problems import Problem, ProblemType

LIFETIME = 3  # heartbeats after which a stream that was not renewed is gone


class TooManyStreams(Problem):
    """The user has the maximum number of streams open."""

    status = 429
    type = ProblemType.TOO_MANY_STREAMS
    title = "Too many streams"
    headers = {"Retry-After": "30"}


def register_stream(owner_id: UUID) -> UUID:
    """Count a stream that is opened, and return its id. Raise TooManyStreams."""
    stream_id = uuid.uuid4()
    if not renew_stream(owner_id, stream_id):
        raise TooManyStreams(f"You have {settings.SSE_MAX_PER_USER} streams open. Close one first.")
    return stream_id


def renew_stream(owner_id: UUID, stream_id: UUID) -> bool:
    """Go on counting a stream. Return False if it was held up for so long that others have taken all the places."""
    lifetime = LIFETIME * dt.timedelta(seconds=settings.SSE_HEARTBEAT)
    return leases.take(lease_of_streams(owner_id), stream_id, lifetime, limit=settings.SSE_MAX_PER_USER) is not None


def unregister_stream(owner_id: UUID, stream_id: UUID) -> None:
    """Count a stream no longer."""
    leases.release(lease_of_streams(owner_id), stream_id)


def lease_of_streams(owner_id: UUID) -> str:
    """Return the key that a user's streams hold."""
    return f"streams {owner_id}"
