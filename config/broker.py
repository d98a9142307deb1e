"""Transport of Celery's messages in Postgres."""

from typing import Any

from django.db import connection
from kombu.transport import pgmq


class Channel(pgmq.Channel):
    """Channel that publishes a message with one statement, in the transaction that is open, if any."""

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        if connection.in_atomic_block:
            self._send(queue, message, connection.connection)
        else:
            with self.pgmq.pool.connection() as own:
                own.autocommit = True
                self._send(queue, message, own)

    def _send(self, queue: str, message: dict[str, Any], sender: Any) -> None:
        self.pgmq.send(self._queue_name(queue), message, conn=sender, **self._pgmq_send_kwargs(message))


class Transport(pgmq.Transport):
    """Transport that doesn't ask the server for its queues before each publication.

    A publication on a lost connection fails, and Celery repeats it on a new one.
    """

    Channel = Channel

    def verify_connection(self, connection: Any) -> bool:
        """Return True. If the connection is lost, the next statement fails."""
        return True
