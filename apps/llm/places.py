"""Places for calls on a connection: at most ``parallel_calls`` are sent at a time, first come first served.

A chat has one call at a time, so that chats take turns. A call that a person waits for takes a place at once, however
many are taken: others wait until it has ended, and on a connection with one place the one under way gives way.

Calls hold leases of their connection in the order in which they came, those of a person first: a call is sent once
fewer than ``parallel_calls`` are before it. A process that was killed renews none, and loses its place after EXPIRY.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet

from apps.common import leases
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.connections import release_connection
from apps.common.stored_texts import gettext_stored
from apps.llm.generation import Misconfigured, Watch
from apps.llm.models import Connection

POLL_INTERVAL = 0.25  # seconds between two tries to get a place
WATCH_INTERVAL = 1.0  # seconds between two calls of the watch while waiting
RENEWAL_INTERVAL = 5.0  # seconds between two renewals of a call's lease
EXPIRY = 30.0  # seconds without a renewal after which a call has ended


def _places_of(owner: Any, pk: Any) -> QuerySet[Any]:
    return Connection.objects.for_owner(owner).filter(pk=pk).values_list("parallel_calls", flat=True)


PLACES = CompiledQuery(_places_of)


class GaveWay(Exception):
    """A call was given up for one that a person waits for."""


@dataclass(frozen=True)
class Call:
    """A call on a connection, which holds a lease from the beginning of its wait to its end."""

    connection: Connection
    is_urgent: bool = False
    id: UUID = field(default_factory=uuid.uuid4)

    @property
    def key(self) -> str:
        return lease_of_calls(self.connection)

    def take_place(self) -> bool:
        """Queue the call, or renew its lease. Return whether it has a place. Raise Misconfigured."""
        before = self.renew()
        places: Any = PLACES.first(self.connection.owner_id, self.connection.pk)
        if places is None:
            raise Misconfigured(gettext_stored("The connection was deleted."))
        return bool(self.is_urgent or before < places)

    def renew(self) -> int:
        """Renew the call's lease, and return how many calls are before it.

        A call that was held up for longer than EXPIRY queues again: if it is under way, it counts.
        """
        before = leases.take(self.key, self.id, timedelta(seconds=EXPIRY), limit=None, first=self.is_urgent)
        return cast(int, before)  # without a limit, every call gets a lease

    def leave(self) -> None:
        """Give the call's place to the next one."""
        leases.release(self.key, self.id)


def lease_of_calls(connection: Connection) -> str:
    """Return the key that the calls on a connection hold."""
    return f"calls {connection.pk}"


@contextmanager
def place_on(connection: Connection, watch: Watch, *, gives_way: bool = False) -> Iterator[Watch]:
    """Wait for a place on the connection and hold it. Yield a watch that also renews the call's lease.

    ``watch`` is called about once a second while waiting. Raise its exceptions, and Misconfigured if the connection has
    been deleted. If the call ``gives_way``, the watch raises GaveWay once a person waits for another on the only place.
    """
    call = Call(connection)
    try:
        _wait(call, watch)
        has_one_place = connection.parallel_calls == 1
        yield _renewing(call, _giving_way(call, watch) if gives_way and has_one_place else watch)
    finally:
        call.leave()


@contextmanager
def place_at_once(connection: Connection, watch: Watch) -> Iterator[Watch]:
    """Hold a place for a call that a person waits for. Yield a watch as ``place_on`` does. Raise Misconfigured."""
    call = Call(connection, is_urgent=True)
    try:
        call.take_place()
        yield _renewing(call, watch)
    finally:
        call.leave()


def _giving_way(call: Call, watch: Watch) -> Watch:
    """Return a watch that raises GaveWay if another call has come before this one."""

    def check() -> None:
        watch()
        first, *_ = [*leases.holders(call.key), call.id]
        if first != call.id:
            raise GaveWay

    return check


def _wait(call: Call, watch: Watch) -> None:
    next_watch = time.monotonic() + WATCH_INTERVAL
    while not call.take_place():
        release_connection()
        time.sleep(POLL_INTERVAL)
        if time.monotonic() >= next_watch:
            watch()
            next_watch = time.monotonic() + WATCH_INTERVAL


def _renewing(call: Call, watch: Watch) -> Watch:
    """Return a watch that calls ``watch`` and renews the call's lease every RENEWAL_INTERVAL."""
    next_renewal = time.monotonic() + RENEWAL_INTERVAL

    def renew() -> None:
        nonlocal next_renewal
        watch()
        if time.monotonic() >= next_renewal:
            call.renew()
            next_renewal = time.monotonic() + RENEWAL_INTERVAL

    return renew
