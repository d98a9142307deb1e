"""Transitions of background jobs."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import structlog
from celery import current_app
from django.contrib.auth import get_user_model
from django.db import InterfaceError, OperationalError
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.dispatch import Signal
from django.utils import timezone
from kombu.exceptions import ChannelError

from apps.common.database.errors import is_disk_full, is_rolled_back
from apps.common.database.restriction import restrict
from apps.common.jobs.models import ACTIVE_STATES, OPEN_STATES, Job, JobQuerySet, heartbeat_timeout, without_heartbeat
from apps.common.metrics import count
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.common.stored_texts import gettext_stored

MAX_CLAIMS = 5  # after this many claims without progress, a job fails
SLICE_SECONDS = 10.0  # time after which a job gives way to others
J = TypeVar("J", bound=Job)

log = structlog.get_logger(__name__)


# Sent when a job is paused, resumed, postponed or ends, with ``job``, whose fields may be outdated, and its ``state``.
# Who creates a job that clients follow sends it too.
job_changed = Signal()


class ClaimLost(Exception):
    """The job was cancelled, paused, deleted or claimed by another worker."""


def lock_owner(owner: Owner) -> None:
    """Lock the user's row until the transaction ends, so that their jobs are created one at a time."""
    get_user_model().objects.select_for_update(no_key=True).get(pk=owner_id_of(owner))


def claim(model: type[J], job_id: UUID, **fields: Any) -> J | None:
    """Claim a job for this worker and update ``fields``. Return None if there is no such job to claim.

    What follows in the same task sees the rows of the job's owner only.
    """
    now = timezone.now()
    with system_scope():
        candidates = model.objects.filter(model.claimable(now), pk=job_id)
        candidates.filter(claims__gte=MAX_CLAIMS).update(
            state=Job.State.FAILED,
            error=gettext_stored("Its worker stopped %(times)s times at the same step.", times=MAX_CLAIMS),
            claim=None,
            finished_at=now,
            **model.idle_fields,
        )
        claimed = candidates.filter(claims__lt=MAX_CLAIMS).update(
            state=Job.State.RUNNING,
            claim=uuid.uuid4(),
            claims=F("claims") + 1,
            claimed_at=now,
            heartbeat_at=now,
            wait_until=None,
            error="",
            started_at=Coalesce("started_at", now),
            **fields,
        )
        rows: Any = model.objects.filter(pk=job_id)
        job = rows.first() if claimed else None
    if job is not None:
        restrict(job.owner_id)
        # Of the task that runs it, whose context begins empty; a job that follows in the same task replaces it.
        structlog.contextvars.bind_contextvars(job=f"{model._meta.model_name} {job_id}")
    return job


def owned(job: J) -> JobQuerySet[J]:
    """Return the job's row as a queryset that is empty once this worker has lost the job."""
    rows: JobQuerySet[Any] = type(job).objects.for_owner(job.owner_id)
    return rows.filter(pk=job.pk, claim=job.claim, state=Job.State.RUNNING)


def heartbeat(job: Job, **fields: Any) -> None:
    """Record a heartbeat and update ``fields``. Raise ClaimLost if this worker no longer owns the job."""
    if not owned(job).update(heartbeat_at=timezone.now(), **fields):
        raise ClaimLost


def requeue(job: Job) -> None:
    """Put a job that this worker owns back into the queue, so that other jobs can run."""
    owned(job).update(state=Job.State.QUEUED, claim=None, claims=0, heartbeat_at=timezone.now())


def postpone(job: Job, error: str, until: dt.datetime | None, **fields: Any) -> None:
    """Put a job that this worker owns back into the queue until a time, or pause it if ``until`` is None."""
    state = Job.State.PAUSED if until is None else Job.State.QUEUED
    fields = type(job).idle_fields | fields
    fields |= {"wait_until": until, "claim": None, "claims": 0, "heartbeat_at": timezone.now()}
    if owned(job).update(state=state, error=error, **fields):
        job_changed.send(type(job), job=job, state=state)


def end(job: Job, state: str, error: str = "", **fields: Any) -> bool:
    """End a job that this worker owns. Return False if it no longer owns it."""
    fields = type(job).idle_fields | fields
    ended = bool(owned(job).update(state=state, error=error, finished_at=timezone.now(), **fields))
    if ended:
        count("loci_jobs_ended_total", kind=type(job)._meta.model_name, state=state)
        job_changed.send(type(job), job=job, state=state)
    return ended


@contextmanager
def fail_on_error(job: Job, *expected: type[Exception]) -> Iterator[None]:
    """End a claimed job as failed if the block raises.

    ``expected`` errors give the job's error text, ClaimLost leaves the job to its new owner; neither is re-raised.
    Any other error fails the job and is re-raised, so that it is logged.
    """
    try:
        yield
    except ClaimLost:
        log.info("job_claim_lost", job=str(job.pk), kind=type(job).__name__)
    except expected as error:
        end(job, Job.State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        # The database may be gone, so that no failure can be recorded. The job will be claimed again, but not more than
        # MAX_CLAIMS times if the error recurs.
        raise
    except Exception as error:
        # Else the job will be claimed again, as after other errors of the database.
        if not _is_worker_ending(error) and not is_rolled_back(error) and not is_disk_full(error):
            end(job, Job.State.FAILED, gettext_stored("Something went wrong on our side. Try again later."))
        raise


def _is_worker_ending(error: BaseException | None) -> bool:
    """Return whether the error was raised while SystemExit was handled: by a signal in the midst of a statement."""
    while error is not None and not isinstance(error, SystemExit):
        error = error.__context__
    return error is not None


def cancel(job: J) -> J:
    """Cancel a job that has not ended. Its worker stops at the next heartbeat; what it wrote is kept."""
    return _transition(job, OPEN_STATES, state=Job.State.CANCELLED, claim=None, finished_at=timezone.now())


def pause(job: J) -> J:
    """Pause a job. Its worker stops at the next heartbeat, and an unfinished step is repeated after ``resume``."""
    return _transition(job, ACTIVE_STATES, state=Job.State.PAUSED, claim=None)


def resume(job: J) -> J:
    """Put a paused job back into the queue, and end the wait of a queued one."""
    return _transition(
        job, ("paused", "queued"), state=Job.State.QUEUED, claims=0, heartbeat_at=timezone.now(), wait_until=None
    )


def _transition(job: J, states: tuple[str, ...], **fields: Any) -> J:
    """Update a job that is in one of ``states``. Return it with its current values."""
    row = type(job).objects.for_owner(job.owner_id).filter(pk=job.pk)
    changed = row.filter(state__in=states).update(**type(job).idle_fields | fields)
    job.refresh_from_db()
    if changed:
        job_changed.send(type(job), job=job, state=job.state)
    return job


def fail_orphans(model: type[Job], error: str) -> None:
    """Fail the running jobs that have lost their worker."""
    now = timezone.now()
    with system_scope():
        orphans = model.objects.filter(without_heartbeat(now), state=Job.State.RUNNING)
        orphans.update(state=Job.State.FAILED, claim=None, error=error, finished_at=now, **model.idle_fields)


def take_lost(model: type[Job], queue: str, only: Callable[[], Q] = Q) -> list[UUID]:
    """Return the ids of jobs whose message was lost or has done its work, so that they are to be sent to a worker.

    They are queued for too long, without a heartbeat, or their wait is over, and no message waits in their queue: as
    long as one does, it may be theirs. A queued job's wait ends here. ``only`` returns the condition of the jobs that
    the queue has.
    """
    if has_messages(queue):
        return []
    now = timezone.now()
    latest = now - heartbeat_timeout()
    overdue = Q(heartbeat_at=None, created_at__lt=latest) | Q(heartbeat_at__lt=latest)
    overdue = (overdue & Q(wait_until=None)) | Q(wait_until__lte=now)
    with system_scope():
        ids = list(model.objects.filter(overdue, only()).active().values_list("pk", flat=True))
        model.objects.filter(pk__in=ids, state=Job.State.QUEUED).update(heartbeat_at=now, wait_until=None)
    return ids


def has_messages(queue: str) -> bool:
    """Return whether a message waits for a worker of the queue, as far as the broker says so."""
    with current_app.producer_pool.acquire(block=True) as producer:
        try:
            return bool(producer.channel.queue_declare(queue=queue, passive=True).message_count)
        except ChannelError:  # some brokers know no queue that is empty
            return False
