"""Places for calls on a connection: at most ``parallel_calls`` are sent at a time, first come first served.

A chat has one call at a time, so that chats take turns.

The queue is a table, so that it counts the calls of all processes. A process that was killed sends no heartbeats, and
loses its place after EXPIRY.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from apps.common.database.connections import release_connection
from apps.llm.generation import Misconfigured, Watch
from apps.llm.models import Connection, QueuedCall

POLL_INTERVAL = 0.25  # seconds between two tries to get a place
WATCH_INTERVAL = 1.0  # seconds between two calls of the watch while waiting
RENEWAL_INTERVAL = 5.0  # seconds between two heartbeats of a call
EXPIRY = 30.0  # seconds without a heartbeat after which a call has ended


@contextmanager
def place_on(connection: Connection, watch: Watch) -> Iterator[Watch]:
    """Wait for a place on the connection and hold it. Yield a watch that also sends the call's heartbeats.

    ``watch`` is called about once a second while waiting. Raise its exceptions, and Misconfigured if the connection has
    been deleted.
    """
    call = QueuedCall(owner_id=connection.owner_id, connection_id=connection.pk)
    try:
        _wait(call, watch)
        yield _renewing(call, watch)
    finally:
        _queue(call).filter(pk=call.pk).delete()


def _wait(call: QueuedCall, watch: Watch) -> None:
    next_watch = time.monotonic() + WATCH_INTERVAL
    while not _take_place(call):
        release_connection()
        time.sleep(POLL_INTERVAL)
        if time.monotonic() >= next_watch:
            watch()
            next_watch = time.monotonic() + WATCH_INTERVAL


@transaction.atomic
def _take_place(call: QueuedCall) -> bool:
    """Queue the call or renew it. Return whether it holds a place now. Raise Misconfigured."""
    connections = Connection.objects.for_owner(call.owner_id).filter(pk=call.connection_id)
    # The lock makes one process at a time count the calls. It is held for these statements only.
    places = connections.select_for_update(no_key=True).values_list("parallel_calls", flat=True).first()
    if places is None:
        raise Misconfigured(gettext_noop("The connection was deleted."))
    queue = _queue(call)
    queue.filter(renewed_at__lt=Now() - timedelta(seconds=EXPIRY)).delete()
    before = queue.filter(Q(is_sent=True) | Q(pk__lt=call.pk)).exclude(pk=call.pk).count()
    is_sent = before < places
    row = QueuedCall(
        id=call.pk, owner_id=call.owner_id, connection_id=call.connection_id, renewed_at=Now(), is_sent=is_sent
    )
    fields = ["renewed_at", "is_sent"]
    QueuedCall.objects.bulk_create([row], update_conflicts=True, unique_fields=["id"], update_fields=fields)
    return is_sent


def _renewing(call: QueuedCall, watch: Watch) -> Watch:
    """Return a watch that calls ``watch`` and sends a heartbeat of the call every RENEWAL_INTERVAL."""
    next_renewal = time.monotonic() + RENEWAL_INTERVAL

    def renew() -> None:
        nonlocal next_renewal
        watch()
        if time.monotonic() >= next_renewal:
            _queue(call).filter(pk=call.pk).update(renewed_at=Now())
            next_renewal = time.monotonic() + RENEWAL_INTERVAL

    return renew


def _queue(call: QueuedCall) -> Any:
    """Return the calls that wait for or hold a place on the call's connection."""
    return QueuedCall.objects.for_owner(call.owner_id).filter(connection_id=call.connection_id)
