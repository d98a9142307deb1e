"""Places for calls on a connection: at most ``parallel_calls`` are sent at a time, first come first served.

A chat has one call at a time, so that chats take turns. A call that a person waits for takes a place at once, however
many are taken: others wait until it has ended, and on a connection with one place the one under way gives way.

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

from apps.common.database.connections import release_connection
from apps.common.stored_texts import gettext_stored
from apps.llm.generation import Misconfigured, Watch
from apps.llm.models import Connection, QueuedCall

POLL_INTERVAL = 0.25  # seconds between two tries to get a place
WATCH_INTERVAL = 1.0  # seconds between two calls of the watch while waiting
RENEWAL_INTERVAL = 5.0  # seconds between two heartbeats of a call
EXPIRY = 30.0  # seconds without a heartbeat after which a call has ended


class GaveWay(Exception):
    """A call was given up for one that a person waits for."""


@contextmanager
def place_on(connection: Connection, watch: Watch, *, gives_way: bool = False) -> Iterator[Watch]:
    """Wait for a place on the connection and hold it. Yield a watch that also sends the call's heartbeats.

    ``watch`` is called about once a second while waiting. Raise its exceptions, and Misconfigured if the connection has
    been deleted. If the call ``gives_way``, the watch raises GaveWay once a person waits for another on the only place.
    """
    call = QueuedCall(owner_id=connection.owner_id, connection_id=connection.pk)
    try:
        _wait(call, watch)
        has_one_place = connection.parallel_calls == 1
        yield _renewing(call, _giving_way(call, watch) if gives_way and has_one_place else watch)
    finally:
        _queue(call).filter(pk=call.pk).delete()


@contextmanager
def place_at_once(connection: Connection, watch: Watch) -> Iterator[Watch]:
    """Hold a place for a call that a person waits for. Yield a watch as ``place_on`` does. Raise Misconfigured."""
    call = QueuedCall(owner_id=connection.owner_id, connection_id=connection.pk)
    try:
        _take_place(call, at_once=True)
        yield _renewing(call, watch)
    finally:
        _queue(call).filter(pk=call.pk).delete()


def _giving_way(call: QueuedCall, watch: Watch) -> Watch:
    """Return a watch that raises GaveWay if another call has a place too."""

    def check() -> None:
        watch()
        others = _queue(call).filter(is_sent=True, renewed_at__gte=Now() - timedelta(seconds=EXPIRY))
        if others.exclude(pk=call.pk).exists():
            raise GaveWay

    return check


def _wait(call: QueuedCall, watch: Watch) -> None:
    next_watch = time.monotonic() + WATCH_INTERVAL
    while not _take_place(call):
        release_connection()
        time.sleep(POLL_INTERVAL)
        if time.monotonic() >= next_watch:
            watch()
            next_watch = time.monotonic() + WATCH_INTERVAL


@transaction.atomic
def _take_place(call: QueuedCall, *, at_once: bool = False) -> bool:
    """Queue the call or renew it. Return whether it holds a place now, as it does ``at_once``. Raise Misconfigured."""
    connections = Connection.objects.for_owner(call.owner_id).filter(pk=call.connection_id)
    # The lock makes one process at a time count the calls. It is held for these statements only.
    places = connections.select_for_update(no_key=True).values_list("parallel_calls", flat=True).first()
    if places is None:
        raise Misconfigured(gettext_stored("The connection was deleted."))
    queue = _queue(call)
    queue.filter(renewed_at__lt=Now() - timedelta(seconds=EXPIRY)).delete()
    before = queue.filter(Q(is_sent=True) | Q(pk__lt=call.pk)).exclude(pk=call.pk).count()
    is_sent = at_once or before < places
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
