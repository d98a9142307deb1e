"""Heartbeats of a job whose work is one long transaction."""

import threading
from typing import Any, Self

from django.db import OperationalError, connection, transaction

from apps.common import jobs

HEARTBEAT_INTERVAL = 1.0  # seconds


class Progress:
    """Thread that records heartbeats and progress of a job.

    The thread has its own database connection: writes in the job's transaction are invisible until it commits.
    """

    def __init__(self, job: jobs.Job) -> None:
        self._job = job
        self._fields: dict[str, Any] = {}
        self._claim_lost = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="job-progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def update(self, **fields: Any) -> None:
        """Set the fields to record with the next heartbeat. Raise ClaimLost if another worker owns the job."""
        self._fields = fields
        if self._claim_lost:
            raise jobs.ClaimLost

    def stop(self) -> None:
        """End the thread and wait for it. Call it before the job's row is changed: a heartbeat would wait for it."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopped.wait(HEARTBEAT_INTERVAL):
                self._heartbeat()
        finally:
            connection.close()

    def _heartbeat(self) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # Prevents a deadlock: the holder of the lock may wait for the job, which waits for this thread.
                cursor.execute("SET LOCAL lock_timeout = '1s'")
                jobs.heartbeat(self._job, **self._fields)
        except jobs.ClaimLost:
            self._claim_lost = True
        except OperationalError:  # skip this heartbeat; the next one may succeed
            connection.close()
