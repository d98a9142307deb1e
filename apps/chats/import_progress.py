"""Says how far an import is, once a second, while the transaction that stores it is still open."""

import threading

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

from apps.chats.models import ImportJob
from apps.common import clock

BEAT = 1.0  # seconds between two signs of life


class CalledOff(Exception):
    """The job was cancelled, or another worker has it."""


def claimed_row(job: ImportJob) -> QuerySet[ImportJob]:
    """The job's row, as long as it is under way and was not claimed anew: the time of a claim names it."""
    rows = ImportJob.objects.for_owner(job.owner_id)
    return rows.filter(pk=job.pk, state=ImportJob.State.RUNNING, started_at=job.started_at)


class Progress:
    """On a thread with a database connection of its own: what the import itself writes, nobody sees before its end."""

    def __init__(self, job: ImportJob) -> None:
        self.job = job
        self.bytes_done = self.messages = 0
        self.called_off = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="import-progress", daemon=True)

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def note(self, bytes_done: int, messages: int) -> None:
        """So much is read. Raises CalledOff where the job isn't ours any more."""
        self.bytes_done, self.messages = bytes_done, messages
        if self.called_off:
            raise CalledOff

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _tell(self) -> None:
        try:
            while not self._stopped.wait(BEAT):
                self._beat()
        finally:
            connection.close()

    def _beat(self) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # The import waits for this thread: who waits for the import must never hold it up.
                cursor.execute("SET LOCAL lock_timeout = '1s'")
                self.called_off = not claimed_row(self.job).update(
                    bytes_done=min(self.bytes_done, self.job.bytes_total),
                    messages=self.messages,
                    heartbeat_at=clock.now(),
                )
        except OperationalError:  # no sign of life this time; the next one may get through
            connection.close()
