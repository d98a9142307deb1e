"""Server-sent event streams. One database connection of each server process listens for all of them.

A stream queues only the newest event of each chat and of the settings: the event names a state, and a client that
reads the changes up to it has missed nothing. So the queue of a slow client is bounded by the user's number of chats.
"""

import asyncio
import json
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import connection

from apps.common.problems import Problem, ProblemType
from apps.sync.live import CHANNEL

logger = logging.getLogger(__name__)

RETRY = b"retry: 2000\n\n"
HEARTBEAT = b": beat\n\n"
RESYNC = b"event: resync\ndata: {}\n\n"
RECONNECT_AFTER = 1.0  # seconds
STALLED_AFTER = 30.0  # seconds without the client reading
READY_TIMEOUT = 5.0  # seconds; then a stream is opened even if the database can't be reached
# Detect a dead connection even if the network does not report it.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class Stream:
    """The queue of events for one client. With ``chat_id``, of this chat only."""

    def __init__(self, chat_id: str | None = None) -> None:
        self.chat_id = chat_id
        self.started = False
        self.ended = False
        self._pending: dict[str, bytes] = {}
        self._wakeup = asyncio.Event()

    def push(self, event: str, data: dict[str, Any]) -> None:
        """Queue an event. Drop an older event of the same chat, or of the settings."""
        if self.chat_id is not None and self.chat_id != data.get("chat"):
            return
        subject = f"{event}/{data.get('chat', '')}"
        self._pending.pop(subject, None)
        self._pending[subject] = f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
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
    """The streams of one event loop by owner, and the database connection that listens while there are any."""

    def __init__(self) -> None:
        self._streams: dict[str, set[Stream]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def open(self, owner_id: str, stream: Stream) -> None:
        """Add a stream and wait until the database connection listens. The caller must call ``close``."""
        self._streams[owner_id].add(stream)
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        try:
            await asyncio.wait_for(self._listening.wait(), READY_TIMEOUT)
        except TimeoutError:
            logger.warning("the database connection for change notifications is not ready")
        stream.started = True

    def close(self, owner_id: str, stream: Stream) -> None:
        self._streams[owner_id].discard(stream)
        if not self._streams[owner_id]:
            del self._streams[owner_id]
        if not self._streams and self._listener is not None:
            self._listener.cancel()
            self._listener = None

    def end(self) -> None:
        for stream in self._all():
            stream.end()

    def _all(self) -> list[Stream]:
        return [stream for streams in self._streams.values() for stream in streams]

    async def _listen(self) -> None:
        """Pass notifications on, reconnecting after errors, until cancelled."""
        try:
            while True:
                try:
                    await self._feed()
                except psycopg.Error as error:
                    logger.warning("change notifications are interrupted: %s", error)
                self._listening.clear()
                await asyncio.sleep(RECONNECT_AFTER)
        finally:
            self._listening.clear()

    async def _feed(self) -> None:
        """Pass notifications on to streams. Raise psycopg.Error if the connection is lost.

        Streams opened before the connection may have missed notifications: they get a resync.
        """
        parameters = _for_async_connection(KEEPALIVES | connection.get_connection_params())
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as listener:
            await listener.execute(f"LISTEN {CHANNEL}")
            for stream in self._all():
                if stream.started:
                    stream.resync()
            self._listening.set()
            async for notification in listener.notifies():
                payload = json.loads(notification.payload)
                for stream in self._streams.get(payload["owner"], ()):
                    stream.push(payload["event"], payload["data"])


def _for_async_connection(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return Django's connection parameters without those that apply to blocking connections only."""
    return {name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")}


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def end_all() -> None:
    """End every stream of this process. The server calls it in the event loop when it stops."""
    for one in list(_hubs.values()):
        one.end()


class Events:
    """The body of a stream's reply, as an asynchronous iterable of bytes.

    It ends with the stream, or when ``is_allowed``, called at each heartbeat, returns False. It counts towards the
    user's streams until ``close``, which Django calls however the reply ends.
    """

    def __init__(self, owner_id: UUID, stream: Stream, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        self.owner_id = owner_id
        self.stream = stream
        self.is_allowed = is_allowed
        _acquire_place(owner_id)

    def close(self) -> None:
        _release_place(self.owner_id)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                # The generator resumes when the client has read the chunk. A client that stops reading is cut off.
                stalled = loop.call_later(STALLED_AFTER, task.cancel)
                try:
                    yield chunk
                finally:
                    stalled.cancel()

    async def _chunks(self) -> AsyncGenerator[bytes]:
        streams = hub()
        try:
            await streams.open(str(self.owner_id), self.stream)
            yield RETRY
            while not self.stream.ended:
                events = await self.stream.next_events(settings.SSE_HEARTBEAT)
                if events is None and not await self.is_allowed():
                    return
                yield HEARTBEAT if events is None else events
        finally:
            streams.close(str(self.owner_id), self.stream)


class TooManyStreams(Problem):
    """The user has the maximum number of streams open."""

    status = 429
    type = ProblemType.TOO_MANY_STREAMS
    title = "Too many streams"
    headers = {"Retry-After": "30"}


# Number of open streams of each user in this process.
_places: Counter[UUID] = Counter()
_places_lock = threading.Lock()


def _acquire_place(owner_id: UUID) -> None:
    """Count a stream of the user. Raise TooManyStreams."""
    with _places_lock:
        if _places[owner_id] >= settings.SSE_MAX_PER_USER:
            raise TooManyStreams(f"You have {settings.SSE_MAX_PER_USER} streams open. Close one first.")
        _places[owner_id] += 1


def _release_place(owner_id: UUID) -> None:
    with _places_lock:
        _places[owner_id] -= 1
        if not _places[owner_id]:
            del _places[owner_id]
