"""The life of long work beside runs: claimed by a worker, alive as long as it says so, ended once.

A job belongs to the worker whose claim stands on its row. One that lost its claim, by a cancel or to another
worker, learns so at its next sign of life.
"""

import datetime as dt
import time
import uuid
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.accounts.models import User
from apps.common import clock
from apps.common.scoping import system_scope
from apps.extraction.models.jobs import Job
from apps.extraction.runs import ClaimLost

J = TypeVar("J", bound=Job)
ACTIVE = Q(state__in=[Job.State.QUEUED, Job.State.RUNNING])
BEAT_EVERY = 2.0  # seconds between signs of life while a model is asked


def lock_owner(owner: Any) -> None:
    """Nobody else starts work for the owner, a user or the id of one, until the transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=getattr(owner, "pk", owner))


def active_job(model: type[J], owner: Any) -> J | None:
    """The owner's job that waits or goes on, or None."""
    return model.objects.for_owner(owner).filter(ACTIVE).first()


def latest_job(model: type[J], owner: Any) -> J | None:
    return model.objects.for_owner(owner).order_by("-pk").first()


def claim_job(model: type[J], job_id: UUID, *, revives: bool) -> J | None:
    """Take a job that waits, or, where it ``revives``, one whose worker is gone; None where there is no such job."""
    now = clock.now()
    free = Q(state=Job.State.QUEUED)
    if revives:
        free |= Q(state=Job.State.RUNNING) & _silent(now)
    with system_scope():
        taken = model.objects.filter(free, pk=job_id).update(
            state=Job.State.RUNNING,
            claim=uuid.uuid4(),
            heartbeat_at=now,
            started_at=Coalesce("started_at", now),
        )
        rows: Any = model.objects.select_related("owner").filter(pk=job_id)
        return rows.first() if taken else None


def beat(job: Job, **fields: Any) -> None:
    """Give a sign of life, and note ``fields``. Raises ClaimLost where the job is no longer ours."""
    if not _ours(job).update(heartbeat_at=clock.now(), **fields):
        raise ClaimLost


class Pulse:
    """Signs of life for a job, as often as it is called, but not more often than every other second."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last = 0.0

    def __call__(self) -> None:
        """Raises ClaimLost."""
        if time.monotonic() - self._last >= BEAT_EVERY:
            beat(self._job)
            self._last = time.monotonic()


def yield_job(job: Job) -> None:
    """Give a job of ours back to the queue, so that others have their turn."""
    _ours(job).update(state=Job.State.QUEUED, claim=None, heartbeat_at=clock.now())


def end_job(job: Job, state: str, error: str = "", **fields: Any) -> None:
    """Close a job that is still ours."""
    _ours(job).update(state=state, error=error, finished_at=clock.now(), **fields)


def cancel_job(job: J) -> J:
    """Stop a job, unless it has ended: at once where it waits, within seconds where a worker is at it."""
    mine = type(job).objects.for_owner(job.owner_id).filter(pk=job.pk)
    mine.filter(ACTIVE).update(state=Job.State.CANCELLED, claim=None, finished_at=clock.now())
    job.refresh_from_db()
    return job


def fail_orphans(model: type[Job], error: str) -> None:
    """Close the jobs whose worker gives no sign of life."""
    now = clock.now()
    with system_scope():
        orphans = model.objects.filter(_silent(now), state=Job.State.RUNNING)
        orphans.update(state=Job.State.FAILED, claim=None, error=error, finished_at=now)


def jobs_to_send(model: type[Job]) -> list[UUID]:
    """Jobs that wait or stand still for too long: their task was lost, or their worker is gone.

    One that waits is returned once in a while only: that counts as a sign of life of its queue.
    """
    now = clock.now()
    lost = Q(heartbeat_at=None, created_at__lt=now - _patience()) | Q(heartbeat_at__lt=now - _patience())
    with system_scope():
        ids = list(model.objects.filter(ACTIVE & lost).values_list("pk", flat=True))
        model.objects.filter(pk__in=ids, state=Job.State.QUEUED).update(heartbeat_at=now)
    return ids


def _ours(job: Job) -> Any:
    mine = type(job).objects.for_owner(job.owner_id)
    return mine.filter(pk=job.pk, claim=job.claim, state=Job.State.RUNNING)


def _silent(now: dt.datetime) -> Q:
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - _patience())


def _patience() -> dt.timedelta:
    return dt.timedelta(seconds=settings.RUN_HEARTBEAT_TIMEOUT)
