"""Transport of Celery's messages in Postgres."""

from typing import Any

from kombu.transport import pgmq


class Channel(pgmq.Channel):
    """Channel that publishes a message with one statement, without a transaction around it."""

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        with self.pgmq.pool.connection() as connection:
            connection.autocommit = True
            options = self._pgmq_send_kwargs(message)
            self.pgmq.send(self._queue_name(queue), message, conn=connection, **options)


class Transport(pgmq.Transport):
    """Transport that doesn't ask the server for its queues before each publication.

    A publication on a lost connection fails, and Celery repeats it on a new one.
    """

    Channel = Channel

    def verify_connection(self, connection: Any) -> bool:
        """Return True. If the connection is lost, the next statement fails."""
        return True
