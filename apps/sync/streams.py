"""Open event streams: one listening connection of each server process feeds all of them.

A stream keeps only the newest word of each chat and of the settings: it names a state, and a client that reads the
changes up to it has missed nothing. So a stream never holds more than the user has chats, however slow its reader.
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
BEAT = b": beat\n\n"
RESYNC = b"event: resync\ndata: {}\n\n"
RECONNECT_AFTER = 1.0  # seconds
STALLED_AFTER = 30.0  # seconds
READY_TIMEOUT = 5.0  # seconds; a stream that nothing feeds yet is opened all the same
# A dead peer is noticed, where the network does not say so itself.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class Stream:
    """What one client still has to be told; ``chat_id`` narrows it to one chat."""

    def __init__(self, chat_id: str | None = None) -> None:
        self.chat_id = chat_id
        self.begun = False
        self.ended = False
        self._pending: dict[str, bytes] = {}
        self._woken = asyncio.Event()

    def tell(self, event: str, data: dict[str, Any]) -> None:
        """Note an event, in the place of an older one of the same chat or of the settings."""
        if self.chat_id is not None and self.chat_id != data.get("chat"):
            return
        subject = f"{event}/{data.get('chat', '')}"
        self._pending.pop(subject, None)
        self._pending[subject] = f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
        self._woken.set()

    def resync(self) -> None:
        """Note that events may have been missed: the client has to look for itself."""
        self._pending = {"resync": RESYNC}
        self._woken.set()

    def end(self) -> None:
        self.ended = True
        self._woken.set()

    async def next_word(self, timeout: float) -> bytes | None:
        """The events that wait, or the first one to come; None when there was none for ``timeout`` seconds."""
        try:
            await asyncio.wait_for(self._woken.wait(), timeout)
        except TimeoutError:
            return None
        self._woken.clear()
        word, self._pending = b"".join(self._pending.values()), {}
        return word


class Hub:
    """The streams of one event loop, by owner, and the connection that feeds them while there are any."""

    def __init__(self) -> None:
        self._streams: dict[str, set[Stream]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def open(self, owner_id: str, stream: Stream) -> None:
        """Feed ``stream`` from here on; ``close`` has to follow."""
        self._streams[owner_id].add(stream)
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        try:
            await asyncio.wait_for(self._listening.wait(), READY_TIMEOUT)
        except TimeoutError:
            logger.warning("the database does not send word of changes yet")
        stream.begun = True

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
        """Stay connected until cancelled."""
        try:
            while True:
                try:
                    await self._feed()
                except psycopg.Error as error:
                    logger.warning("word of changes is interrupted: %s", error)
                self._listening.clear()
                await asyncio.sleep(RECONNECT_AFTER)
        finally:
            self._listening.clear()

    async def _feed(self) -> None:
        """Pass notifications on. Raises psycopg.Error when the connection is lost."""
        parameters = KEEPALIVES | connection.get_connection_params()
        async with await psycopg.AsyncConnection.connect(**_asynchronous(parameters), autocommit=True) as listener:
            await listener.execute(f"LISTEN {CHANNEL}")
            for stream in self._all():
                if stream.begun:
                    stream.resync()
            self._listening.set()
            async for notification in listener.notifies():
                self._pass_on(json.loads(notification.payload))

    def _pass_on(self, word: dict[str, Any]) -> None:
        for stream in self._streams.get(word["owner"], ()):
            stream.tell(word["event"], word["data"])


def _asynchronous(parameters: dict[str, Any]) -> dict[str, Any]:
    """Django's connection parameters without those that are for connections that block."""
    return {name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")}


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """That of the running event loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def end_all() -> None:
    """End every stream of this process; called in the event loop, when the server stops."""
    for each in list(_hubs.values()):
        each.end()


class Events:
    """The body of a stream's reply: bytes until the stream is ended, or ``is_allowed``, asked at each beat, says no.

    Its ``close``, which Django calls however the reply ends, gives the stream's place back.
    """

    def __init__(self, owner_id: UUID, stream: Stream, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        self.owner_id = owner_id
        self.stream = stream
        self.is_allowed = is_allowed
        _take_place(owner_id)

    def close(self) -> None:
        _give_place_back(self.owner_id)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        async with aclosing(self._words()) as words:
            async for word in words:
                # The reply goes on when the client has taken the word; one that takes nothing is let go.
                stalled = loop.call_later(STALLED_AFTER, task.cancel)
                try:
                    yield word
                finally:
                    stalled.cancel()

    async def _words(self) -> AsyncGenerator[bytes]:
        home = hub()
        try:
            await home.open(str(self.owner_id), self.stream)
            yield RETRY
            while not self.stream.ended:
                word = await self.stream.next_word(settings.SSE_HEARTBEAT)
                if word is None and not await self.is_allowed():
                    return
                yield BEAT if word is None else word
        finally:
            home.close(str(self.owner_id), self.stream)


class TooManyStreams(Problem):
    status = 429
    type = ProblemType.TOO_MANY_STREAMS
    title = "Too many streams"
    headers = {"Retry-After": "30"}


# How many streams each user has open in this process.
_places: Counter[UUID] = Counter()
_places_lock = threading.Lock()


def _take_place(owner_id: UUID) -> None:
    """Raises TooManyStreams."""
    with _places_lock:
        if _places[owner_id] >= settings.SSE_MAX_PER_USER:
            raise TooManyStreams(f"You have {settings.SSE_MAX_PER_USER} streams open. Close one first.")
        _places[owner_id] += 1


def _give_place_back(owner_id: UUID) -> None:
    with _places_lock:
        _places[owner_id] -= 1
        if not _places[owner_id]:
            del _places[owner_id]
