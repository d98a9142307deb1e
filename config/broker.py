"""Transport of Celery's messages in Postgres."""

import warnings
from typing import Any

from django.db import connection
from kombu.transport import pgmq
from psycopg.types.json import Jsonb

# The transport ignores this for as long as it connects, which other threads may do at the same time.
warnings.filterwarnings("ignore", message=r"list_queues\(\)", category=UserWarning)

# One statement stores a message and wakes the workers that listen.
SEND = """
    SELECT pgmq.send(queue_name => %s::text, msg => %s::jsonb, headers => %s::jsonb, delay => %s::integer),
        pg_notify(%s, '')
"""
READY = "SELECT count(*) FROM pgmq.{} WHERE vt <= clock_timestamp()"


class Channel(pgmq.Channel):
    """Channel that publishes a message with one statement, in the transaction that is open, if any.

    No publisher waits for another one, however long their transaction stays open. So nothing here writes to a row that
    publishers share, as the trigger of pgmq's ``enable_notify`` does, which notes when it last woke the workers. And
    nothing changes a queue's table or its triggers, which would wait for all who have published, and keep all others
    waiting meanwhile: a migration creates the queues.
    """

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        name, options = self._queue_name(queue), self._pgmq_send_kwargs(message)
        headers = Jsonb(options.get("headers", {}))
        values = [name, Jsonb(message), headers, options.get("delay", 0), f"pgmq.q_{name}.INSERT"]
        if connection.in_atomic_block:
            # Django's errors: those of the driver would have Celery publish again, in a transaction that has failed.
            with connection.cursor() as cursor:
                cursor.execute(SEND, values)
        else:
            with self.pgmq.pool.connection() as own:
                own.autocommit = True
                own.execute(SEND, values)

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        """Do nothing: the queue exists."""

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        """Listen to what ``_put`` notifies of."""
        if self.use_notify:
            self.connection._register_notify_queue(queue_name or self._queue_name(queue))

    def _size(self, queue: str) -> int:
        """Return how many messages wait for a worker, without those that one has received."""
        with self.pgmq.pool.connection() as own:
            [(count,)] = own.execute(READY.format(f"q_{self._queue_name(queue)}"))
        return int(count)


class Transport(pgmq.Transport):
    """Transport that doesn't ask the server for its queues before each publication.

    A publication on a lost connection fails, and Celery repeats it on a new one.
    """

    Channel = Channel

    def verify_connection(self, connection: Any) -> bool:
        """Return True. If the connection is lost, the next statement fails."""
        return True
