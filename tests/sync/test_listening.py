"""The database connection that streams share: it listens whenever a stream is open."""

import asyncio
import json

import pytest
from django.db import connection

from apps.sync.streams import CHANNEL, EventQueue, Hub
from tests.coroutines import in_thread

OWNER, ROUNDS = "owner", 10
EVENT = json.dumps({"owner": OWNER, "event": "chat", "data": {"chat": "c"}})


def notify() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, EVENT])
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_opens_when_the_last_one_closes_misses_nothing():
    async def received() -> list[bytes | None]:
        hub, received = Hub(), []
        for _ in range(ROUNDS):
            first, second = EventQueue(), EventQueue()
            await hub.open(OWNER, first)
            hub.close(OWNER, first)
            await hub.open(OWNER, second)
            await asyncio.to_thread(notify)
            received.append(await second.next_events(10))
            hub.close(OWNER, second)
        return received

    assert in_thread(received) == [b'event: chat\ndata: {"chat":"c"}\n\n'] * ROUNDS
