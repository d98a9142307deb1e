"""Server-sent event streams. One database connection of each server process listens for all of them.

A queue holds only the newest event of each chat, of its runs and of the settings: it names a rev or a state, and a
client that reads all changes up to it misses nothing. So the length of a slow client's queue is limited by the user's
number of chats.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import connection

from apps.sync.live import CHANNEL, CHECK, MEMORIES

logger = logging.getLogger(__name__)

RETRY = b"retry: 2000\n\n"
HEARTBEAT = b": beat\n\n"
RESYNC = b"event: resync\ndata: {}\n\n"
RECONNECT_DELAY = 1.0  # seconds
READ_TIMEOUT = 30.0  # seconds; then a client that does not read is disconnected
READY_TIMEOUT = 5.0  # seconds; then a stream is opened even if the database can't be reached
# Detect a dead connection even if the network does not report it.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class EventQueue:
    """The queue of events for one client, limited to one chat if ``chat_id`` is given."""

    def __init__(self, chat_id: str | None = None) -> None:
        self.chat_id = chat_id
        self.started = False
        self.ended = False
        self.must_check = False
        self._pending: dict[str, bytes] = {}
        self._wakeup = asyncio.Event()

    def push(self, event: str, data: dict[str, Any]) -> None:
        """Queue an event. Drop an older one of the same kind and chat, or of the settings."""
        if event == CHECK:
            self.must_check = True
            self._wakeup.set()
            return
        if self.chat_id is not None and event != MEMORIES and self.chat_id != data.get("chat"):
            return
        key = f"{event}/{data.get('chat', '')}"
        self._pending.pop(key, None)
        self._pending[key] = f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
        self._wakeup.set()

    def resync(self) -> None:
        """Queue a resync event instead of all others: events may have been lost."""
        self._pending = {"resync": RESYNC}
        self._wakeup.set()

    def end(self) -> None:
        self.ended = True
        self._wakeup.set()

    async def next_events(self, timeout: float) -> bytes | None:
        """Return the queued events. Wait for the first one; return None after ``timeout`` seconds without any."""
        try:
            await asyncio.wait_for(self._wakeup.wait(), timeout)
        except TimeoutError:
            return None
        self._wakeup.clear()
        events, self._pending = b"".join(self._pending.values()), {}
        return events


class Hub:
    """The event queues of one event loop, by owner id, and the database connection that listens while there are any."""

    def __init__(self) -> None:
        self._queues: dict[str, set[EventQueue]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def open(self, owner_id: str, queue: EventQueue) -> None:
        """Add a queue and wait until the database connection listens. The caller must call ``close``."""
        self._queues[owner_id].add(queue)
        if self._listener is None or self._listener.done():
            # A listener that was cancelled may end after this one listens: each tells by an event of its own.
            self._listening = asyncio.Event()
            self._listener = asyncio.create_task(self._listen(self._listening))
        try:
            await asyncio.wait_for(self._listening.wait(), READY_TIMEOUT)
        except TimeoutError:
            logger.warning("the database connection for change notifications is not ready")
        queue.started = True

    def close(self, owner_id: str, queue: EventQueue) -> None:
        self._queues[owner_id].discard(queue)
        if not self._queues[owner_id]:
            del self._queues[owner_id]
        if not self._queues and self._listener is not None:
            self._listener.cancel()
            self._listener = None

    def end(self) -> None:
        for queue in self._all_queues():
            queue.end()

    def _all_queues(self) -> list[EventQueue]:
        return [queue for queues in self._queues.values() for queue in queues]

    async def _listen(self, listening: asyncio.Event) -> None:
        """Forward notifications until cancelled, and set ``listening`` meanwhile. Reconnect after errors."""
        try:
            while True:
                try:
                    await self._forward_notifications(listening)
                except psycopg.Error as error:
                    logger.warning("change notifications are interrupted: %s", error)
                listening.clear()
                await asyncio.sleep(RECONNECT_DELAY)
        finally:
            listening.clear()

    async def _forward_notifications(self, listening: asyncio.Event) -> None:
        """Forward notifications to the queues. Raise psycopg.Error if the connection is lost.

        Queues opened before the connection may have missed notifications, so they get a resync event.
        """
        parameters = _for_async_connection(KEEPALIVES | connection.get_connection_params())
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as listener:
            await listener.execute(f"LISTEN {CHANNEL}")
            for queue in self._all_queues():
                if queue.started:
                    queue.resync()
            listening.set()
            async for notification in listener.notifies():
                payload = json.loads(notification.payload)
                for queue in self._queues.get(payload["owner"], ()):
                    queue.push(payload["event"], payload["data"])


def _for_async_connection(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return Django's connection parameters without those that apply to blocking connections only."""
    return {name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")}


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def current_hub() -> Hub:
    """Return the hub of the running event loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def end_all() -> None:
    """End every stream of this process. The server calls this in the event loop when it stops."""
    for hub in list(_hubs.values()):
        hub.end()


class EventStream:
    """The body of a streaming response, as an asynchronous iterable of bytes.

    It ends with its queue, or when ``is_allowed`` returns False, which is called once in the time of a heartbeat, and
    when a token is revoked. ``close`` is called once it has ended: Django always does, at the end of a response.
    """

    def __init__(
        self,
        owner_id: UUID,
        queue: EventQueue,
        is_allowed: Callable[[], Awaitable[bool]],
        close: Callable[[], None],
    ) -> None:
        self.owner_id = owner_id
        self.queue = queue
        self.is_allowed = is_allowed
        self.close = close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                # The generator resumes when the client has read the chunk. A client that stops reading is disconnected.
                timeout = loop.call_later(READ_TIMEOUT, task.cancel)
                try:
                    yield chunk
                finally:
                    timeout.cancel()

    async def _chunks(self) -> AsyncGenerator[bytes]:
        hub = current_hub()
        try:
            await hub.open(str(self.owner_id), self.queue)
            yield RETRY
            loop = asyncio.get_running_loop()
            checked_at = loop.time()
            while not self.queue.ended:
                events = await self.queue.next_events(settings.SSE_HEARTBEAT)
                # Also while there are always events.
                if self.queue.must_check or loop.time() - checked_at >= settings.SSE_HEARTBEAT:
                    self.queue.must_check = False
                    if not await self.is_allowed():
                        return
                    checked_at = loop.time()
                yield events or HEARTBEAT
        finally:
            hub.close(str(self.owner_id), self.queue)
